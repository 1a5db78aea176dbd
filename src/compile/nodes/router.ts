import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { routerAnswer, routerRequest, routerRetry } from "../../context/prompts.ts";
import type { Expression } from "../../expression/expression.ts";
import type { Template } from "../../expression/template.ts";
import type { ModelReply, StructuredAnswer } from "../../models/agent-model.ts";
import { readStructured } from "../../models/replies/json-answer.ts";
import { parseTextForm } from "../../models/text-form/text-form.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { addUsage } from "../../state/usage.ts";
import { isRecord } from "../../values/json.ts";
import { RouterChoiceError } from "../errors.ts";
import type { BoundModel } from "../loop/context.ts";
import { withoutTools } from "../loop/step-record.ts";
import { probeContext } from "../loop/node.ts";
import type { RouterNode } from "../workflow-plan.ts";
import { composeNodeContext } from "./compose-node-context.ts";
import {
  emptyStepAt,
  type NodeAt,
  type NodeDone,
  type NodeWork,
  promptText,
  valuesRead,
} from "./node-work.ts";

export interface RouterNodeDeps {
  readonly plan: RouterNode;
  readonly rules: readonly { readonly when: Expression; readonly choice: string }[];
  readonly prompt: Template | null;
  /** Null for a router by rule. */
  readonly boundModel: BoundModel | null;
}

/**
 * Chooses the next node: by the first rule that holds, else by a model if there are choices, else the default. A model
 * call leaves a step record. Its context is only for the router, and other nodes do not see it.
 */
export function routerNode(deps: RouterNodeDeps): NodeWork {
  const { plan, rules, boundModel } = deps;
  const byModel =
    boundModel === null || plan.choices.length === 0 ? null : modelRouter(deps, boundModel);
  return (at) => {
    const taken = rules.find(({ when }) => when.evaluate(at.values) === true);
    if (taken !== undefined) return chosen(taken.choice, taken.when.source);
    if (byModel !== null) return byModel(at);
    if (plan.default === null) throw noChoice(deps, at, []);
    return chosen(plan.default, "No rule holds, so the default is taken.");
  };
}

function chosen(choice: string, reason: string): NodeDone {
  return { output: { choice, reason } };
}

function modelRouter(
  deps: RouterNodeDeps,
  boundModel: BoundModel,
): (at: NodeAt) => Promise<NodeDone> {
  const { plan } = deps;
  const answer = routerAnswer(plan.choices);
  const note = routerRequest(plan.choices);
  const names = plan.choices.map(({ name }) => name);
  return async (at) => {
    const { run } = at;
    run.emit({ type: "status", status: "EXECUTING" });
    const timestamp = run.loop.clock.now().toISOString();
    const model = await boundModel.model(run.context);
    const prompt = promptText(deps.prompt, at.values);
    const about = { goal: "planning", step: at.stepIndex } as const;
    const call = { boundModel, model, prompt, note, answer };
    const { messages } = await probeContext(run, about, (goal) =>
      composeNodeContext(at, { ...call, goal }),
    );
    const ask = async (asked: readonly BaseMessage[]): Promise<Asked> => {
      const reply = await run.callModel(
        model,
        { messages: asked, answer },
        { purpose: "routing", step: at.stepIndex, isUnseen: true },
      );
      return { reply, read: readChoice(reply.message, answer, names) };
    };
    const first = await ask(messages);
    if (first.read.ok) return decided(at, stepOf(at, timestamp, [first]), first.read);

    // Calls so far are stored even if the second call, or the turn, fails.
    const place = run.startedSteps.push(stepOf(at, timestamp, [first])) - 1;
    // Composed again, because the longer request may exceed the budget.
    const after = routerRetry(plan.choices, first.read);
    const again = await composeNodeContext(at, { ...call, goal: about.goal, after });
    const second = await ask(again.messages);
    const step = stepOf(at, timestamp, [first, second]);
    if (second.read.ok) return decided(at, step, second.read);
    run.startedSteps[place] = step;
    if (plan.default === null) {
      throw noChoice(deps, at, [first.read.said, second.read.said]);
    }
    const reason = `The model made no choice (${second.read.problem}), so the default is taken.`;
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

/** Returns the record of one or two calls that made no choice. */
function stepOf(at: NodeAt, timestamp: string, asked: readonly [Asked, ...Asked[]]): CurrentStep {
  const [first] = asked;
  const { reply, read } = asked.at(-1) ?? first;
  return {
    ...emptyStepAt(at, timestamp),
    thought: read.ok ? read.reason : read.said,
    problem: asked.flatMap(({ read: one }) => (one.ok ? [] : [one.problem])).join("\n"),
    usage: asked.map(({ reply: { usage } }) => usage).reduce((sum, one) => addUsage(sum, one)),
    model: reply.model,
    fallback: reply.fallback ?? first.reply.fallback,
    model_calls: asked.flatMap(({ reply: { calls } }) => calls),
  };
}

function noChoice(
  { plan, rules }: RouterNodeDeps,
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

/** A model's choice, or why there is none. */
type ReadChoice =
  | { readonly ok: true; readonly choice: string; readonly reason: string }
  | {
      readonly ok: false;
      /** The model's text instead of a choice. */
      readonly said: string;
      /** Reported back to the model. */
      readonly problem: string;
    };

/**
 * Reads the choice in a model's reply. Tolerates a missing reason, other letter case, and quotes and a full stop around
 * a name, if the choice is unambiguous; a name within a sentence is no choice. Never throws.
 */
export function readChoice(
  message: AIMessage,
  answer: StructuredAnswer,
  names: readonly string[],
): ReadChoice {
  const read = readStructured(message, answer);
  const value = read.value ?? bareText(message.text);
  const choice = named(isRecord(value) ? value["choice"] : value, names);
  if (choice !== null) {
    const reason = isRecord(value) ? value["reason"] : undefined;
    return { ok: true, choice, reason: typeof reason === "string" ? reason : "" };
  }
  const problem = read.ok ? "choice: no such choice" : read.problem;
  return { ok: false, said: saidIn(message), problem };
}

function named(said: unknown, names: readonly string[]): string | null {
  if (typeof said !== "string") return null;
  if (names.includes(said)) return said;
  const bare = bareName(said);
  if (bare === "") return null;
  const alike = [...new Set(names)].filter((name) => bareName(name) === bare);
  return alike.length === 1 ? (alike[0] ?? null) : null;
}

function bareName(text: string): string {
  return text.replace(/^[\s"'`*_]+|[\s"'`*_.]+$/g, "").toLowerCase();
}

/** Returns the answer of a reply without JSON, without the label that text-form models put before it. */
function bareText(text: string): string {
  return parseTextForm(text).finalAnswer ?? text;
}

function saidIn({ text, tool_calls: calls = [], invalid_tool_calls: broken = [] }: AIMessage) {
  const [call] = calls;
  return call === undefined ? (broken[0]?.args ?? text) : JSON.stringify(call.args);
}
