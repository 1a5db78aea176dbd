import { ToolMessage } from "@langchain/core/messages";
import { reflectionRequest } from "../../context/prompts.ts";
import { buildReasoningContext } from "../../context/reasoning-context.ts";
import { resultText } from "../../context/step-messages.ts";
import { parseJsonAnswer } from "../../models/json-answer.ts";
import { ModelCallError } from "../../models/errors.ts";
import { cutText } from "../../state/cut-text.ts";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import type { Progress, StepRecord, ToolResult } from "../../state/step-record.ts";
import { turnSteps } from "../../state/turn.ts";
import { addUsage, type Usage } from "../../state/usage.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import type { NodeBody, NodeRun } from "./loop-node.ts";
import { toolFormOf } from "./parts.ts";

/** Characters of a tool result that the conversation shows; the whole result is in the step record. */
const shownCharacters = 1000;

/** Runs the calls that the last reasoning step asked for and closes its record. */
export const tools: NodeBody = async (state, run) => {
  const { parts } = run;
  const current = state.current_step;
  if (!current) throw new Error("The tools node ran without a step under way.");
  run.emit({ type: "status", status: "AWAITING_TOOL" });
  const { tool_rails: rails } = parts.definition.spec.guardrail_config;
  const { toolCalls } = turnSteps(state.steps, {
    turnNumber: current.turn_number,
    attemptNumber: current.attempt_number,
  });
  const ran = await runToolCalls({
    calls: current.tool_predictions,
    tools: parts.tools,
    allowed: rails.allowed_tools,
    maxCalls: rails.max_calls_per_turn,
    callsSoFar: toolCalls,
    state: { execution: state.execution, attempt: state.attempt },
    env: {
      signal: run.signal,
      clock: parts.clock,
      executionSchema: parts.definition.behaviour.executionSchema,
      attemptSchema: parts.definition.behaviour.attemptSchema,
    },
    onResult: (result) => run.emit({ type: "tool_result", step_index: current.step_index, result }),
  });
  const toolUsage = { tool_calls: ran.results.length };
  const closed: StepRecord = {
    ...current,
    tool_results: ran.results,
    concurrent_execution: ran.concurrent,
    usage: addUsage(current.usage, toolUsage),
  };
  const reflection = current.mode === "deep" ? await reflectOn(closed, state, run) : null;
  const step = reflection === null ? closed : withReflection(closed, reflection);
  run.emit({ type: "step", step });
  return {
    update: {
      steps: [step],
      messages: ran.results.map((result) => toolMessage(result, parts.ids())),
      execution: ran.state.execution,
      attempt: ran.state.attempt,
      current_step: null,
      status: transition(state.status ?? "CREATED", "EXECUTING"),
      usage: reflection === null ? toolUsage : addUsage(reflection.usage, toolUsage),
    },
    ...(reflection?.approach && { turn: { approach: reflection.approach } }),
    goto: "reason",
  };
};

function toolMessage(result: ToolResult, id: string): ToolMessage {
  return new ToolMessage({
    id,
    tool_call_id: result.id,
    name: result.name,
    content: cutText(resultText(result), shownCharacters),
    status: result.outcome === "success" ? "success" : "error",
  });
}

interface Reflection {
  readonly text: string;
  readonly synthesis: string;
  readonly progress: Progress | "";
  readonly hypothesis: { belief: string; test: string } | null;
  readonly approach: string;
  readonly usage: Usage;
}

/**
 * Deep mode: the model looks back at the step. A reply that is not the JSON asked for counts as the reflection itself;
 * no reply leaves the step without one, since its tools have already run.
 */
async function reflectOn(
  step: StepRecord,
  state: GraphState,
  run: NodeRun,
): Promise<Reflection | null> {
  const model = await run.model();
  const form = toolFormOf(model);
  const messages = buildReasoningContext({
    opening: run.parts.opening(form),
    conversation: state.messages,
    steps: [...state.steps, step],
    turnNumber: step.turn_number,
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm: form,
    note: reflectionRequest,
  });
  const reply = await model.call({ messages }, run.config).catch((thrown: unknown) => {
    if (thrown instanceof ModelCallError && !run.signal.aborted) return null;
    throw thrown;
  });
  if (reply === null) return null;
  const parsed = parseJsonAnswer(reply.message.text);
  const said = parsed.ok && isRecord(parsed.value) ? parsed.value : {};
  const progress = said["progress"];
  const hypothesis = said["hypothesis"];
  return {
    text: "reflection" in said ? textOf(said, "reflection") : reply.message.text,
    synthesis: textOf(said, "synthesis"),
    progress:
      progress === "advancing" || progress === "stuck" || progress === "regressing" ? progress : "",
    hypothesis: isRecord(hypothesis)
      ? { belief: textOf(hypothesis, "belief"), test: textOf(hypothesis, "test") }
      : null,
    approach: textOf(said, "approach"),
    usage: reply.usage,
  };
}

function withReflection(step: StepRecord, reflection: Reflection): StepRecord {
  return {
    ...step,
    reflection: reflection.text,
    synthesis: reflection.synthesis,
    progress: reflection.progress,
    hypothesis: reflection.hypothesis,
    approach: reflection.approach || step.approach,
    usage: addUsage(step.usage, reflection.usage),
  };
}

function textOf(from: Record<string, unknown>, key: string): string {
  const value = from[key];
  return typeof value === "string" ? value : "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
