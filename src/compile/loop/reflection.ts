import type { BaseMessage } from "@langchain/core/messages";
import { judgementRequest, reflectionRequest } from "../../context/prompts.ts";
import { readJudgement, readObservations, textOf } from "../../context/step-note.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { parseJsonAnswer } from "../../models/json-answer.ts";
import type { GraphState } from "../../state/channels.ts";
import { isRecord } from "../../state/is-record.ts";
import { keptText } from "../../state/kept-text.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { addUsage } from "../../state/usage.ts";
import { withObservation } from "../../state/with-observations.ts";
import { contextOf } from "./context-of.ts";
import type { NodeRun } from "./node-body.ts";

/** A model, and what it reads. */
export interface Reading {
  readonly model: AgentModel;
  readonly messages: readonly BaseMessage[];
}

/** Whether a step without tools is looked back at: one that said something, and goes on. */
export function isWorthReflection({ mode, next_action, thought }: StepRecord): boolean {
  return mode === "deep" && next_action === "continue" && thought.trim() !== "";
}

/**
 * Deep mode: the model looks back at a step, and the record says what it saw. What it noted itself when it made the step
 * stays where it says nothing of it now. A reply that is not the JSON asked for counts as the reflection itself; no reply
 * leaves the step without one, since its tools have already run.
 *
 * @param read what the model that made the step reads, with the step and a request after it
 */
export async function reflectOn(
  step: StepRecord,
  run: NodeRun,
  read: (step: StepRecord, request: string) => Promise<Reading> | Reading,
): Promise<StepRecord> {
  const { model, messages } = await read(step, reflectionRequest);
  const reply = await run.ask(model, { messages }, "unseen").catch((thrown: unknown) => {
    if (thrown instanceof ModelCallError && !run.signal.aborted) return null;
    throw thrown;
  });
  if (reply === null) return step;
  const said = readObject(reply.message.text) ?? {};
  const { synthesis, progress, hypothesis } = readJudgement(said);
  const noted = new Map(readObservations(said["results"], [step]).map((one) => [one.id, one]));
  return {
    ...step,
    tool_results: step.tool_results.map((result) => {
      const observation = noted.get(result.id);
      return observation === undefined ? result : withObservation(result, observation);
    }),
    reflection: "reflection" in said ? textOf(said, "reflection") : keptText(reply.message.text),
    synthesis: synthesis || step.synthesis,
    progress: progress || step.progress,
    hypothesis: hypothesis ?? step.hypothesis,
    approach: textOf(said, "approach") || step.approach,
    usage: addUsage(step.usage, reply.usage),
  };
}

/** Reasons against an answer that the next attempt is told. */
const mostReasons = 20;

/** Deep mode: the model's reasons against its own answer; none accepts it, as does a verdict that cannot be read. */
export async function judge(
  answer: string,
  state: GraphState,
  run: NodeRun,
): Promise<readonly string[]> {
  const model = await run.parts.thinker.model(run.context);
  const pending = { answer, request: judgementRequest };
  const { messages } = await contextOf(state, run, { model, goal: "synthesis", pending });
  const reply = await run.ask(model, { messages }, "unseen");
  const verdict = readObject(reply.message.text);
  if (verdict?.["accepted"] !== false) return [];
  const { reasons } = verdict;
  const named = (Array.isArray(reasons) ? reasons : [])
    .filter((one) => typeof one === "string")
    .slice(0, mostReasons)
    .map(keptText);
  return named.length > 0 ? named : ["the answer does not fulfil the request"];
}

function readObject(text: string): Record<string, unknown> | undefined {
  const parsed = parseJsonAnswer(text);
  return parsed.ok && isRecord(parsed.value) ? parsed.value : undefined;
}
