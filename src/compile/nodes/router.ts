import type { BaseMessage } from "@langchain/core/messages";
import { routerAnswer, routerRequest, routerRetry } from "../../context/router-prompt.ts";
import type { Expression } from "../../expression/expression.ts";
import type { Template } from "../../expression/template.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { addUsage } from "../../state/usage.ts";
import { RouterChoiceError } from "../errors.ts";
import { readFor } from "../loop/context-reading.ts";
import type { Thinker } from "../loop/parts.ts";
import { withoutTools } from "../loop/reasoning.ts";
import type { RouterNode } from "../plan/plan-node.ts";
import { blankStepAt } from "./blank-step-at.ts";
import { nodeContext } from "./node-context.ts";
import type { NodeAt, NodeDone, NodeWork } from "./node-work.ts";
import { promptText } from "./prompt-text.ts";
import { readChoice, type ReadChoice } from "./read-choice.ts";
import { valuesRead } from "./values.ts";

export interface RouterNodeParts {
  readonly plan: RouterNode;
  readonly rules: readonly { readonly when: Expression; readonly choice: string }[];
  readonly prompt: Template | null;
  /** Null for a router by rule. */
  readonly thinker: Thinker | null;
}

/**
 * Picks the way on: the first rule that holds, then what a model chooses where there are choices, then the default. A
 * model that was asked leaves a step record; what it read is for the router alone, so that other nodes are not shown it.
 */
export function routerNode(parts: RouterNodeParts): NodeWork {
  const { plan, rules, thinker } = parts;
  const byModel =
    thinker === null || plan.choices.length === 0 ? null : modelRouter(parts, thinker);
  return (at) => {
    const taken = rules.find(({ when }) => when.evaluate(at.values) === true);
    if (taken !== undefined) return chosen(taken.choice, taken.when.source);
    if (byModel !== null) return byModel(at);
    if (plan.default === null) throw noChoice(parts, at, []);
    return chosen(plan.default, "No rule holds, so that the default is taken.");
  };
}

function chosen(choice: string, reason: string): NodeDone {
  return { output: { choice, reason } };
}

function modelRouter(parts: RouterNodeParts, thinker: Thinker): (at: NodeAt) => Promise<NodeDone> {
  const { plan } = parts;
  const answer = routerAnswer(plan.choices);
  const note = routerRequest(plan.choices);
  const names = plan.choices.map(({ name }) => name);
  return async (at) => {
    const { run } = at;
    run.emit({ type: "status", status: "EXECUTING" });
    const timestamp = run.parts.clock.now().toISOString();
    const model = await thinker.model(run.context);
    const prompt = promptText(parts.prompt, at.values);
    const about = { goal: "planning", step: at.stepIndex } as const;
    const call = { thinker, model, prompt, note, answer };
    const { messages } = await readFor(run, about, (goal) => nodeContext(at, { ...call, goal }));
    const ask = async (asked: readonly BaseMessage[]): Promise<Asked> => {
      const reply = await run.ask(model, { messages: asked, answer }, "unseen");
      return { reply, read: readChoice(reply.message, answer, names) };
    };
    const first = await ask(messages);
    if (first.read.ok) return decided(at, stepOf(at, timestamp, [first]), first.read);

    // What was asked so far is kept when the second call, or the turn, fails.
    const place = run.begun.push(stepOf(at, timestamp, [first])) - 1;
    // Composed anew, since there may be no room for more.
    const after = routerRetry(plan.choices, first.read);
    const again = await nodeContext(at, { ...call, goal: about.goal, after });
    const second = await ask(again.messages);
    const step = stepOf(at, timestamp, [first, second]);
    if (second.read.ok) return decided(at, step, second.read);
    run.begun[place] = step;
    if (plan.default === null) {
      throw noChoice(parts, at, [first.read.said, second.read.said]);
    }
    const reason = `The model made no choice (${second.read.problem}), so that the default is taken.`;
    return decided(at, step, { choice: plan.default, reason });
  };
}

interface Asked {
  readonly reply: ModelReply;
  readonly read: ReadChoice;
}

function decided(
  at: NodeAt,
  step: CurrentStep,
  { choice, reason }: { readonly choice: string; readonly reason: string },
): NodeDone {
  const { run } = at;
  const record = withoutTools({ ...step, thought: reason, next_action: "finish" });
  if (reason !== "") run.emit({ type: "thought", step_index: step.step_index, text: reason });
  run.emit({ type: "step", step: record });
  return { ...chosen(choice, reason), update: { steps: [record] } };
}

/** The step of one or two calls, as far as it came without a choice. */
function stepOf(at: NodeAt, timestamp: string, asked: readonly [Asked, ...Asked[]]): CurrentStep {
  const [first] = asked;
  const { reply, read } = asked.at(-1) ?? first;
  return {
    ...blankStepAt(at, timestamp),
    thought: read.ok ? read.reason : read.said,
    problem: asked.flatMap(({ read: one }) => (one.ok ? [] : [one.problem])).join("\n"),
    usage: asked.map(({ reply: { usage } }) => usage).reduce((sum, one) => addUsage(sum, one)),
    model: reply.model,
    fallback: reply.fallback ?? first.reply.fallback,
  };
}

function noChoice(
  { plan, rules }: RouterNodeParts,
  at: NodeAt,
  answers: readonly string[],
): RouterChoiceError {
  const from = plan.choices.length > 0 ? plan.choices.map(({ name }) => name) : rules;
  return new RouterChoiceError({
    node: plan.name,
    choices: [...new Set(from.map((one) => (typeof one === "string" ? one : one.choice)))],
    rules: rules.map(({ when }) => when.source),
    seen: valuesRead(
      rules.map(({ when }) => when),
      at.values,
    ),
    answers,
  });
}
