import { abortable } from "../../async.ts";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { StratagraphError } from "../../errors.ts";
import type { RailResult } from "../../guardrails/run-rails.ts";
import { attachmentLabel, attachmentsOf } from "../../state/attachment.ts";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import { placeOf, type TurnFailure, type TurnMemories } from "../../state/turn.ts";
import { InvalidInputError, TurnLimitError } from "../errors.ts";
import { checkInput } from "../input.ts";
import { leavesTurnOpen, newMessages } from "./end-turn.ts";
import { cancelSignal, inheritedRedactions } from "../run/run-config.ts";
import type { NodeBody, NodeContext } from "./node.ts";

/**
 * Begins a turn: checks the input, applies the input rails and sets up the execution state. If it throws, the last turn
 * stays as it was.
 */
export const initialize: NodeBody = async (state, run) => {
  const { loop } = run;
  const { spec } = loop.definition;
  const initializing = transition(state.status ?? "CREATED", "INITIALIZING");
  const turnNumber = (state.turn_number ?? -1) + 1;
  if (turnNumber >= spec.execution_config.max_turns) {
    throw new TurnLimitError(spec.execution_config.max_turns);
  }
  run.emit({ type: "status", status: initializing }, { turnNumber, attemptNumber: 0 });

  const given = readInput(state, run);
  const said = newMessages(state.messages, state.turn?.conversation);
  const guarded = await guardInput({ input: given.input, said, turnNumber }, run);
  const begun = {
    turn_number: turnNumber,
    attempt: null,
    attempt_number: 0,
    current_step: null,
    output: null,
  };
  const turn = {
    run: run.newTurnId,
    started_at: run.newTurnStart,
    usage_before: state.usage,
    approach: "",
    draft: null,
    failed_attempts: [],
    failure: guarded.end === null ? null : guarded.failure,
    ...(state.turn?.inbox !== undefined && { inbox: state.turn.inbox }),
  };
  if (guarded.end !== null) {
    const status = transition(initializing, guarded.end);
    return { update: { ...begun, input: null, status }, turn, goto: "finalize" };
  }
  const { input, messages } = guarded;
  const memories = await findMemories(loop.requestOf(input), turnNumber, run);
  const keepsExecution = spec.execution_config.execution_scope === "thread" && turnNumber > 0;
  return {
    update: {
      ...begun,
      input,
      messages: [
        ...messages,
        ...(given.isSaid
          ? []
          : [new HumanMessage({ content: loop.requestOf(input), id: loop.ids() })]),
      ],
      ...(keepsExecution ? {} : { execution: loop.initialExecution(input, run.rails) }),
      status: transition(initializing, "PLANNING"),
    },
    turn: { ...turn, ...(memories !== null && { memories }) },
    goto: loop.attempts.node,
  };
};

/** Returns what the agent remembers about a request; null without long-term memory. */
async function findMemories(
  request: string,
  turnNumber: number,
  run: NodeContext,
): Promise<TurnMemories | null> {
  const { loop, memories, context } = run;
  if (memories === null) return null;
  const { profile } = await loop.boundModel.model(context);
  const found = await memories.begin({ request, turnNumber, profile });
  run.emit({ type: "memory", memories: found }, { turnNumber, attemptNumber: 0 });
  return found;
}

/** Returns the checked input, and whether it is already a message of the conversation. */
function readInput(
  state: GraphState,
  { loop, config, rails }: NodeContext,
): { readonly input: unknown; readonly isSaid: boolean } {
  const { definition } = loop;
  const last = state.messages.at(-1);
  const isRequest = last !== undefined && HumanMessage.isInstance(last) && placeOf(last) === null;
  const asked = isRequest ? last : undefined;
  if (state.input !== null && state.input !== undefined) {
    // Placeholders of the outer agents are checked by their values.
    const isInside = Object.keys(inheritedRedactions(config)).length > 0;
    const input: unknown = isInside
      ? rails.redact(checkInput(definition, rails.unredact(state.input)))
      : checkInput(definition, state.input);
    // A client may send the same text both ways; it is added once.
    return { input, isSaid: asked?.text === loop.requestOf(input) };
  }
  if (asked === undefined) {
    throw new InvalidInputError(definition.spec.name, [
      "it has neither `input` nor a new human message at the end of `messages`",
    ]);
  }
  return { input: checkInput(definition, { message: asked.text }), isSaid: true };
}

/** The input of a turn after its rails, or why the turn ends before it begins. */
export type GuardedInput =
  | {
      readonly end: null;
      readonly input: unknown;
      /** The changed messages of the conversation, under their ids. */
      readonly messages: readonly BaseMessage[];
    }
  | { readonly end: "FAILED"; readonly failure: TurnFailure }
  | { readonly end: "CANCELLED"; readonly failure: null };

export interface GivenInput {
  readonly input: unknown;
  /** The new messages of the conversation in this turn, including the request if it came as one. */
  readonly said: readonly BaseMessage[];
  readonly turnNumber: number;
}

/**
 * Applies the input rails to a turn's input and to the messages that came with it, within the turn's timeout.
 *
 * @throws errors that end the whole run
 */
async function guardInput(given: GivenInput, run: NodeContext): Promise<GuardedInput> {
  if (run.loop.rails.input.length === 0) return { end: null, input: given.input, messages: [] };
  try {
    return await abortable(checkAll(given, run), run.signal);
  } catch (thrown) {
    if (!run.signal.aborted) throw thrown;
    const reason: unknown = run.signal.reason;
    if (leavesTurnOpen(reason)) throw reason;
    if (cancelSignal(run.config)?.aborted === true) return { end: "CANCELLED", failure: null };
    if (!(reason instanceof StratagraphError) || reason.kind !== "run") throw thrown;
    const { code, message, transient } = reason;
    return { end: "FAILED", failure: { cause: code, message, ...(transient && { transient }) } };
  }
}

async function checkAll(
  { input, said, turnNumber }: GivenInput,
  { loop, rails }: NodeContext,
): Promise<GuardedInput> {
  const place = { turnNumber, attemptNumber: 0, stepIndex: null, callId: null };
  const about = { on: "input", tool: null, request: loop.requestOf(input), evidence: [] } as const;
  const unchecked = said.flatMap(attachmentsOf).map(attachmentLabel);
  const checked = await rails.check({ ...about, value: input, unchecked }, place);
  if (checked.blocked !== null) return blockedBy(checked.blocked);
  const messages: BaseMessage[] = [];
  for (const message of said) {
    // The request itself was already checked.
    if (message.content === about.request) {
      if (checked.value !== input) messages.push(changed(message, loop.requestOf(checked.value)));
      continue;
    }
    const all = toldIn(message);
    const isRequest = all.texts.map((text) => text === about.request);
    const told = { ...all, texts: all.texts.map((text, at) => (isRequest[at] ? "" : text)) };
    const isEmpty = told.args.length === 0 && told.texts.every((text) => text === "");
    const end = isEmpty ? null : await rails.check({ ...about, value: told }, place);
    if (end !== null && end.blocked !== null) return blockedBy(end.blocked);
    const { texts, args } = (end?.value ?? told) as Told;
    const request = loop.requestOf(checked.value);
    const now = { args, texts: texts.map((text, at) => (isRequest[at] ? request : text)) };
    const isSame = (end === null || end.value === told) && checked.value === input;
    if (!isSame) messages.push(withTold(message, now));
  }
  return { end: null, input: checked.value, messages };
}

/** Describes a blocked input without revealing what was looked for or found. */
function blockedBy({ rail }: RailResult): GuardedInput {
  const message = "This request was not accepted: it does not pass this agent's input checks.";
  return { end: "FAILED", failure: { cause: `guardrail:${rail}`, message } };
}

type Content = BaseMessage["content"];

/** The checked parts of a message: its texts, and the arguments of its calls. The bytes of attachments are not checked. */
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

/**
 * Returns the message with other content, under its id. Provider-specific data of calls is left out because it has the
 * old arguments.
 */
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
