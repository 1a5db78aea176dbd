import {
  coerceMessageLikeToMessage,
  RemoveMessage,
  type BaseMessage,
  type BaseMessageLike,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { systemIds } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import { isTerminal, type Status } from "./lifecycle.ts";

/** A new list with `items` at its end. Old elements keep their identity; nothing to add gives `list` itself. */
export function append<T>(list: readonly T[], items: readonly T[]): readonly T[] {
  return items.length === 0 ? list : [...list, ...items];
}

/** Shallow merge: keys of `update` replace keys of `value`, others keep their identity; null leaves none. */
export function mergeByKey(
  value: Readonly<Record<string, unknown>>,
  update: Readonly<Record<string, unknown>> | null,
): Readonly<Record<string, unknown>> {
  return update === null ? {} : { ...value, ...update };
}

/** What was written last; a branch that goes on for the rest of a superstep does not undo how the turn has ended. */
export function reduceStatus(status: Status, update: Status): Status {
  return isTerminal(status) ? status : update;
}

/** A `RemoveMessage` names a message that is not there. */
export class UnknownMessageError extends StratagraphError {
  readonly code = "unknown_message";

  constructor(readonly messageId: string) {
    super(
      `Cannot remove message '${messageId}': no such message. Remove ids that are in messages.`,
    );
  }
}

/**
 * Which message stands where, remembered with the list it describes and handed on to the list that grows from it, so
 * that an append costs what it adds. A list that is forked simply builds its index again.
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
