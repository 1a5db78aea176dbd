import {
  type BaseMessage,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
  RemoveMessage,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { systemIds } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import { isTerminal, type Status } from "./lifecycle.ts";

/**
 * Returns a new list with `items` appended. Old elements keep their identity; without items it returns `list` itself.
 */
export function append<T>(list: readonly T[], items: readonly T[]): readonly T[] {
  return items.length === 0 ? list : [...list, ...items];
}

/** Shallow merge: keys of `update` replace keys of `value`, others keep their identity; null removes all. */
export function mergeByKey(
  value: Readonly<Record<string, unknown>>,
  update: Readonly<Record<string, unknown>> | null,
): Readonly<Record<string, unknown>> {
  return update === null ? {} : { ...value, ...update };
}

/**
 * Returns the last written status; a branch that runs on for the rest of a superstep does not undo the end of the turn.
 */
export function reduceStatus(status: Status, update: Status): Status {
  return isTerminal(status) ? status : update;
}

/** A model's summary of a tool result, rendered instead of its preview. */
export interface ResultSummary {
  readonly text: string;
  /** `provider:model` that wrote it. */
  readonly model: string;
}

/** Keyed by a hash of the result's content, the purpose of the summary and the request of its turn. */
export type ResultSummaries = Readonly<Record<string, ResultSummary>>;

/** Maximum number of summaries. Each has at most 2,000 characters, and all are stored again with every new one. */
const mostKept = 200;

/** Merges by key. Over 200, the oldest are dropped. An existing key keeps its position. */
export function reduceResultSummaries(
  value: ResultSummaries,
  update: ResultSummaries,
): ResultSummaries {
  const entries = Object.entries({ ...value, ...update });
  return Object.fromEntries(entries.slice(-mostKept));
}

/** A `RemoveMessage` names an unknown message. */
export class UnknownMessageError extends StratagraphError {
  readonly code = "unknown_message";

  constructor(readonly messageId: string) {
    super(
      `Cannot remove message '${messageId}': no such message. Remove ids that are in messages.`,
    );
  }
}

/**
 * Index of message ids by list, cached per list and passed on to the list that extends it, so that an append costs only
 * the added messages. A forked list rebuilds its index.
 */
const positions = new WeakMap<readonly BaseMessage[], Map<string, number>>();

/**
 * LangGraph's rules for a messages channel: a message with a known id replaces the old one in place, a
 * `RemoveMessage` removes by id (`REMOVE_ALL_MESSAGES` removes all before it), anything else is appended. Messages
 * without an id get one. Untouched messages keep their identity.
 *
 * @throws UnknownMessageError when a `RemoveMessage` names an id that is not in the list
 */
export function reduceMessages(
  messages: readonly BaseMessage[],
  update: BaseMessageLike | readonly BaseMessageLike[],
): readonly BaseMessage[] {
  const incoming = (isList(update) ? update : [update]).map(toIdentified);
  if (incoming.length === 0) return messages;
  const clearAt = incoming.findLastIndex(isRemoveAll);
  if (clearAt >= 0) return reduceMessages([], incoming.slice(clearAt + 1));

  const index = takeIndex(messages);
  const next = [...messages];
  const removed = new Set<string>();
  for (const message of incoming) {
    const id = message.id as string;
    const at = index.get(id);
    if (RemoveMessage.isInstance(message)) {
      if (at === undefined) throw new UnknownMessageError(id);
      removed.add(id);
    } else if (at === undefined) {
      index.set(id, next.length);
      next.push(message);
    } else {
      removed.delete(id);
      next[at] = message;
    }
  }
  if (removed.size > 0) return next.filter((message) => !removed.has(message.id as string));
  positions.set(next, index);
  return next;
}

function takeIndex(messages: readonly BaseMessage[]): Map<string, number> {
  const known = positions.get(messages);
  positions.delete(messages);
  return known ?? new Map(messages.map((message, at) => [message.id as string, at]));
}

function toIdentified(like: BaseMessageLike): BaseMessage {
  const message = coerceMessageLikeToMessage(like);
  if (message.id === undefined || message.id === null) {
    message.id = systemIds();
    message.lc_kwargs.id = message.id;
  }
  return message;
}

function isRemoveAll(message: BaseMessage): boolean {
  return RemoveMessage.isInstance(message) && message.id === REMOVE_ALL_MESSAGES;
}

/** `["human", "hi"]` is one message, not a list of two. */
function isList(
  update: BaseMessageLike | readonly BaseMessageLike[],
): update is readonly BaseMessageLike[] {
  return Array.isArray(update) && !(update.length === 2 && typeof update[0] === "string");
}

/** An update contains a value that its channel does not accept. Nothing was written. */
export class StateUpdateError extends StratagraphError {
  readonly code = "state_update";

  constructor(
    readonly channel: string,
    expected: string,
  ) {
    super(
      `The channel ${channel} takes ${expected}. Write that with updateState, or leave it out.`,
    );
  }
}
