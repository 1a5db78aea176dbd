import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../state/step-record.ts";

/** What people and the agent said to each other from one request to the next. */
export interface ChatTurn {
  /** Negative for what was said before the first turn. */
  readonly turn: number;
  readonly asked: readonly BaseMessage[];
  readonly answered: readonly BaseMessage[];
}

/** Returns whether a message belongs to the chat. Calls and their results are rendered from step records. */
export function isChatMessage(message: BaseMessage): boolean {
  if (HumanMessage.isInstance(message)) return true;
  return AIMessage.isInstance(message) && (message.tool_calls?.length ?? 0) === 0;
}

interface Group {
  asked: BaseMessage[];
  answered: BaseMessage[];
  /** Known where a call of it stands in a record. */
  turn: number | null;
}

/**
 * The conversation by turns. A turn begins with each message of a person's. Which turn it is tell the calls that stand in
 * the conversation, as far as there are any; from there and from the end, which is the turn under way, the others are
 * counted. So several messages that came at once, or a turn without one, shift no later turn. What was said before turn 0,
 * where a thread began with a conversation from elsewhere, has numbers below it.
 *
 * @param present the turn under way; where it is not given, the last one that either list knows of
 */
export function chatTurns(
  conversation: readonly BaseMessage[],
  steps: readonly StepRecord[],
  present?: number,
): readonly ChatTurn[] {
  const all = grouped(conversation, steps);
  // Of several messages without an answer between them the number of turns tells whether they came at once.
  const merged = present === undefined || all.length === present + 1 ? all : mergeAsked(all);
  const groups = merged.length === (present ?? 0) + 1 ? merged : all;
  const last = present ?? Math.max(steps.at(-1)?.turn_number ?? 0, groups.length - 1);
  const turns: ChatTurn[] = [];
  let following = last + 1;
  for (let at = groups.length - 1; at >= 0; at -= 1) {
    const { asked, answered, turn } = groups[at] as Group;
    following = turn === null ? following - 1 : Math.min(turn, following);
    turns.unshift({ turn: following, asked, answered });
  }
  return turns;
}

function grouped(conversation: readonly BaseMessage[], steps: readonly StepRecord[]): Group[] {
  const turnOfCall = callTurns(conversation, steps);
  const groups: Group[] = [];
  for (const message of conversation) {
    const isHuman = HumanMessage.isInstance(message);
    if (groups.length === 0 || isHuman) groups.push({ asked: [], answered: [], turn: null });
    const group = groups.at(-1) as Group;
    if (isHuman) group.asked.push(message);
    else if (isChatMessage(message)) group.answered.push(message);
    else if (AIMessage.isInstance(message)) {
      const turn = turnOfCall.get(message.tool_calls?.[0]?.id ?? "");
      if (turn !== undefined) group.turn ??= turn;
    }
  }
  return groups;
}

/** With what was asked without an answer as one with what was asked next. */
function mergeAsked(groups: readonly Group[]): readonly Group[] {
  const merged: Group[] = [];
  for (const group of groups) {
    const before = merged.at(-1);
    const isOpen = before !== undefined && before.answered.length === 0 && before.turn === null;
    if (!isOpen || before.asked.length === 0) merged.push({ ...group, asked: [...group.asked] });
    else {
      before.asked.push(...group.asked);
      before.answered = group.answered;
      before.turn = group.turn;
    }
  }
  return merged;
}

/** Empty where the conversation holds no calls. An id may come again in a later turn: then it tells nothing. */
function callTurns(
  conversation: readonly BaseMessage[],
  steps: readonly StepRecord[],
): ReadonlyMap<string, number> {
  const turns = new Map<string, number>();
  if (conversation.every(isChatMessage)) return turns;
  const again = new Set<string>();
  for (const step of steps) {
    for (const { id } of step.tool_predictions) {
      const known = turns.get(id);
      if (known !== undefined && known !== step.turn_number) again.add(id);
      turns.set(id, step.turn_number);
    }
  }
  for (const id of again) turns.delete(id);
  return turns;
}
