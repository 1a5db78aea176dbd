import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../state/step-record.ts";
import { appendFold, placeOf } from "../state/turn.ts";

/** What people and the agent said to each other from one request to the next. */
export interface ChatTurn {
  /** Negative for what was said before the first turn. */
  readonly turn: number;
  readonly asked: readonly BaseMessage[];
  /** What a person said while the turn ran. */
  readonly added: readonly BaseMessage[];
  readonly answered: readonly BaseMessage[];
}

/** Returns whether a message belongs to the chat. Calls and their results are rendered from step records. */
export function isChatMessage(message: BaseMessage): boolean {
  if (HumanMessage.isInstance(message)) return true;
  return AIMessage.isInstance(message) && (message.tool_calls?.length ?? 0) === 0;
}

interface NumberedGroup extends Omit<ChatTurn, "turn"> {
  /** Known where a call of it stands in a record, or a message was added to it. */
  readonly turn: number | null;
}

interface Group {
  readonly asked: BaseMessage[];
  readonly added: BaseMessage[];
  readonly answered: BaseMessage[];
  /** The first call of each message with calls. */
  readonly calls: string[];
}

/**
 * The conversation by turns. A turn begins with each message of a person's that was not added to a running one. Which turn it is tell the calls that stand in
 * the conversation, as far as there are any; from there and from the end, which is the turn under way, the others are
 * counted. So several messages that came at once, or a turn without one, shift no later turn. What was said before turn 0,
 * where a thread began with a conversation from elsewhere, has numbers below it.
 *
 * Costs as much as what came since the last call, and a little for each turn. The lists in it grow with the conversation.
 *
 * @param present the turn under way; where it is not given, the last one that either list knows of
 */
export function chatTurns(
  conversation: readonly BaseMessage[],
  steps: readonly StepRecord[],
  under: { readonly present?: number | undefined; readonly openStep?: StepRecord | undefined } = {},
): readonly ChatTurn[] {
  const { present, openStep } = under;
  const calls = callTurns(steps);
  const openCalls = openStep === undefined ? none : addCalls(new Map(), openStep);
  const turnOfCall = (id: string): number | null => {
    const [known, open] = [calls.get(id), openCalls.get(id)];
    return known === undefined || open === undefined || known === open
      ? (known ?? open ?? null)
      : null;
  };
  const all = grouped(conversation).map(({ asked, added, answered, calls: own }): NumberedGroup => {
    const [first] = added;
    const place = first === undefined ? null : placeOf(first);
    return { asked, added, answered, turn: place?.turn_number ?? firstTurn(own, turnOfCall) };
  });
  // Of several messages without an answer between them the number of turns tells whether they came at once.
  const merged = present === undefined || all.length === present + 1 ? all : mergeAsked(all);
  const groups = merged.length === (present ?? 0) + 1 ? merged : all;
  const lastStep = openStep ?? steps.at(-1);
  const last = present ?? Math.max(lastStep?.turn_number ?? 0, groups.length - 1);
  let following = last + 1;
  const turns: ChatTurn[] = [];
  for (let at = groups.length - 1; at >= 0; at -= 1) {
    const { asked, added, answered, turn } = groups[at] as NumberedGroup;
    following = turn === null ? following - 1 : Math.min(turn, following);
    turns.push({ turn: following, asked, added, answered });
  }
  return turns.toReversed();
}

/** The groups of a conversation; they grow with it. */
const grouped = appendFold<BaseMessage, Group[]>(
  () => [],
  (groups, message) => {
    const isHuman = HumanMessage.isInstance(message);
    const isAdded = isHuman && placeOf(message) !== null;
    if (groups.length === 0 || (isHuman && !isAdded)) {
      groups.push({ asked: [], added: [], answered: [], calls: [] });
    }
    const group = groups.at(-1) as Group;
    if (isAdded) group.added.push(message);
    else if (isHuman) group.asked.push(message);
    else if (isChatMessage(message)) group.answered.push(message);
    else if (AIMessage.isInstance(message)) group.calls.push(message.tool_calls?.[0]?.id ?? "");
  },
);

/** Null where no call tells its turn. */
function firstTurn(
  calls: readonly string[],
  turnOfCall: (id: string) => number | null,
): number | null {
  for (const id of calls) {
    const turn = turnOfCall(id);
    if (turn !== null) return turn;
  }
  return null;
}

/** With what was asked without an answer as one with what was asked next. */
function mergeAsked(groups: readonly NumberedGroup[]): readonly NumberedGroup[] {
  const merged: NumberedGroup[] = [];
  for (const group of groups) {
    const before = merged.at(-1);
    const isOpen = before !== undefined && before.answered.length === 0 && before.turn === null;
    if (!isOpen || before.asked.length === 0) merged.push(group);
    else merged.splice(-1, 1, { ...group, asked: [...before.asked, ...group.asked] });
  }
  return merged;
}

type CallTurns = Map<string, number | null>;

/** The turn of each call; null for an id that came again in a later turn, which tells nothing. */
const callTurns = appendFold<StepRecord, CallTurns>(() => new Map(), addCalls);

function addCalls(turns: CallTurns, step: StepRecord): CallTurns {
  const { tool_predictions: calls, turn_number: turn } = step;
  for (const { id } of calls) {
    const known = turns.get(id);
    turns.set(id, known === undefined || known === turn ? turn : null);
  }
  return turns;
}

const none: CallTurns = new Map();
