import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { StratagraphError } from "../../errors.ts";
import type { RailResult } from "../../guardrails/run-rails.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { cancelSignal } from "../cancellation.ts";
import type { NodeRun } from "./node-body.ts";
import { raceAbort } from "./turn-signal.ts";

/** A turn's input as it may go on, or why the turn ends before it has begun. */
export type GuardedInput =
  | {
      readonly end: null;
      readonly input: unknown;
      /** Those of the conversation that were changed, under their ids. */
      readonly messages: readonly BaseMessage[];
    }
  | { readonly end: "FAILED"; readonly failure: TurnFailure }
  | { readonly end: "CANCELLED"; readonly failure: null };

export interface GivenInput {
  readonly input: unknown;
  /** Messages of the conversation that are new in this turn, the request included where it came as one. */
  readonly said: readonly BaseMessage[];
  readonly turnNumber: number;
}

/**
 * Has the input rails look at a turn's input, and at what came with it in the conversation, within the turn's time.
 * @throws what ends the whole run
 */
export async function guardInput(given: GivenInput, run: NodeRun): Promise<GuardedInput> {
  if (run.parts.rails.input.length === 0) return { end: null, input: given.input, messages: [] };
  try {
    return await raceAbort(checkAll(given, run), run.signal);
  } catch (thrown) {
    if (!run.signal.aborted) throw thrown;
    const reason: unknown = run.signal.reason;
    if (cancelSignal(run.config)?.aborted === true) return { end: "CANCELLED", failure: null };
    if (!(reason instanceof StratagraphError) || reason.kind !== "run") throw thrown;
    const { code, message, transient } = reason;
    return { end: "FAILED", failure: { cause: code, message, ...(transient && { transient }) } };
  }
}

async function checkAll(
  { input, said, turnNumber }: GivenInput,
  { parts, rails }: NodeRun,
): Promise<GuardedInput> {
  const place = { turnNumber, attemptNumber: 0, stepIndex: null, callId: null };
  const about = { on: "input", tool: null, request: parts.requestOf(input), evidence: [] } as const;
  const checked = await rails.check({ ...about, value: input }, place);
  if (checked.blocked !== null) return blockedBy(checked.blocked);
  const messages: BaseMessage[] = [];
  for (const message of said) {
    // The request itself has been looked at.
    if (message.content === about.request) {
      if (checked.value !== input) messages.push(changed(message, parts.requestOf(checked.value)));
      continue;
    }
    const told = toldIn(message);
    const end = await rails.check({ ...about, value: told }, place);
    if (end.blocked !== null) return blockedBy(end.blocked);
    if (end.value !== told) messages.push(withTold(message, end.value as Told));
  }
  return { end: null, input: checked.value, messages };
}

/** Clear, and without telling what was looked for or found. */
function blockedBy({ rail }: RailResult): GuardedInput {
  const message =
    "This request was not accepted: it does not pass the checks on what this agent takes.";
  return { end: "FAILED", failure: { cause: `guardrail:${rail}`, message } };
}

type Content = BaseMessage["content"];

/** What a message says: its texts, and the arguments of its calls. Pictures and files are not looked at. */
interface Told {
  readonly texts: readonly string[];
  readonly args: readonly Record<string, unknown>[];
}

function toldIn(message: BaseMessage): Told {
  const { content } = message;
  const texts =
    typeof content === "string"
      ? [content]
      : content.map((block) => (typeof block["text"] === "string" ? block["text"] : ""));
  return { texts, args: callsOf(message).map(({ args }) => args) };
}

function withTold(message: BaseMessage, { texts, args }: Told): BaseMessage {
  const { content } = message;
  const told =
    typeof content === "string"
      ? (texts[0] ?? "")
      : content.map((block, at) =>
          typeof block["text"] === "string" ? { ...block, text: texts[at] ?? "" } : block,
        );
  const calls = callsOf(message).map((call, at) => ({ ...call, args: args[at] ?? {} }));
  return changed(message, told, calls);
}

function callsOf(message: BaseMessage): NonNullable<AIMessage["tool_calls"]> {
  return AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
}

/** The message with other content, under its id. What a provider wrote beside calls has the old arguments. */
function changed(
  message: BaseMessage,
  content: Content,
  calls: AIMessage["tool_calls"] = [],
): BaseMessage {
  const { additional_kwargs: extras } = message;
  const { tool_calls: _calls, function_call: _call, ...additional_kwargs } = extras;
  const fields = {
    ...(message.lc_kwargs as object),
    id: message.id,
    content,
    additional_kwargs,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return new (message.constructor as new (fields: object) => BaseMessage)(fields);
}
