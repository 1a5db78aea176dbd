import {
  type AIMessage,
  type BaseMessage,
  HumanMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { callSignature } from "../../state/step-record.ts";
import type { Schema } from "./facts.ts";
import {
  readMemorySection,
  readShortenedHistory,
  readToolReport,
  readWorkerMessage,
} from "./history.ts";
import { outcome, type Outcome } from "./notation.ts";
import { isPlannerRetry, type PlannerRequest, readPlannerRequest } from "./planner-request.ts";

/** What the last words of the conversation ask for. */
export type Wish =
  /** Do what was asked, with tools. */
  | "act"
  /** Answer from what is known. */
  | "finish"
  /** Say what would be done. */
  | "plan"
  /** One JSON object of named keys, described in `instruction`. */
  | "object";

/** A conversation as the rules see it. */
export interface Conversation {
  readonly system: string;
  /** Of the answer, where the system message asks for JSON. */
  readonly outputSchema: Schema | null;
  readonly request: string;
  /** What was wrong with the answers so far, in lines. */
  readonly feedback: readonly string[];
  /** The calls made since the person or a check last spoke, each by `callKey`; see `wasMade`. */
  readonly made: ReadonlySet<string>;
  /** Results since the request, and before it those that nothing was said on yet; oldest first. */
  readonly outcomes: readonly Outcome[];
  /** Results of others that the request brings along. */
  readonly given: readonly Outcome[];
  /** Results of earlier turns, oldest first. */
  readonly past: readonly Outcome[];
  /** What was said before the request. */
  readonly earlier: readonly string[];
  /** What is remembered from other conversations, oldest first. */
  readonly memories: readonly string[];
  /** Calls in the whole conversation; at least the greatest number in an id of this model's. */
  readonly callCount: number;
  readonly wish: Wish;
  /** The last message, when it is an instruction and no request. */
  readonly instruction: string;
  /** What a planner asks in it; null where none does. */
  readonly planner: PlannerRequest | null;
  /** The last answer, of a planner the one that is judged; empty where there is none. */
  readonly answered: string;
}

/** Texts that the loop adds to the conversation: they contain no request. */
const notes =
  /^\[Notes\]|^\[Execution state after attempt |^(Approach|Reflection on the last step|Plan for this step): |^Your last reply held neither|^You are going round in circles: /;
/** These may also begin what a person says, but not in the midst of a turn. */
const notesWithin = /^(Hypothesis|Progress): /;
const feedbackStart =
  /^(that|the|your) (last |previous )?(answer|reply|output|response|result)s? (was|is|did|does|has|could|must|lacks|misses)\b/i;

export function readConversation(messages: readonly BaseMessage[]): Conversation {
  const system: string[] = [];
  const spoken: string[] = [];
  let request = "";
  let earlier: string[] = [];
  let feedback: string[] = [];
  let made = new Set<string>();
  let outcomes: Outcome[] = [];
  const past: Outcome[] = [];
  const memories: string[] = [];
  let wish: Wish = "act";
  let instruction = "";
  let callCount = 0;
  let isAnswered = false;
  let answered = "";
  let judged = "";
  let given: readonly Outcome[] = [];
  let planner: PlannerRequest | null = null;
  const asked = new Map<string, { name: string; args: Record<string, unknown> }>();

  for (const message of messages.flatMap(withRequestApart)) {
    const text = message.text;
    switch (message.type) {
      case "system":
        system.push(text);
        break;
      case "human": {
        const reported = readToolReport(text);
        if (reported.length > 0) {
          callCount += reported.length;
          for (const call of reported) made.add(callKey(call.name, call.args));
          outcomes.push(...reported);
          isAnswered = false;
          break;
        }
        const remembered = readMemorySection(text);
        if (remembered !== null) {
          memories.push(...remembered);
          break;
        }
        const shortened = readShortenedHistory(text);
        if (shortened !== null) {
          spoken.push(...shortened.said);
          const isNow = shortened.of === "steps";
          for (const { signature, outcome: one, times } of shortened.calls) {
            callCount += times;
            (isNow ? outcomes : past).push(one);
            if (isNow) made.add(signature);
          }
          if (isNow) isAnswered = false;
          break;
        }
        const said = readPlannerRequest(text);
        if (said !== null) judged = answered;
        planner = said?.request ?? (isPlannerRetry(text) ? planner : null);
        wish = planner?.kind === "synthesise" ? "finish" : wishOf(text);
        instruction = wish === "act" ? "" : text;
        if (said !== null || (wish !== "act" && request !== "")) break;
        if (notes.test(text) || (request !== "" && !isAnswered && notesWithin.test(text))) {
          isAnswered = false;
          break;
        }
        made = new Set();
        if (request !== "" && feedbackStart.test(text)) {
          feedback = feedbackLines(text);
          break;
        }
        earlier = [...spoken];
        const worker = readWorkerMessage(text);
        request = worker?.description ?? text;
        given = worker?.given ?? [];
        feedback = [];
        if (isAnswered) {
          past.push(...outcomes);
          outcomes = [];
        }
        spoken.push(text);
        break;
      }
      case "ai":
        for (const call of (message as AIMessage).tool_calls ?? []) {
          callCount += 1;
          made.add(callKey(call.name, call.args));
          callCount = Math.max(callCount, numberIn(call.id));
          if (call.id !== undefined) asked.set(call.id, { name: call.name, args: call.args });
        }
        if (text !== "") spoken.push(text);
        answered = text;
        isAnswered = (message as AIMessage).tool_calls?.length === 0;
        break;
      case "tool":
        isAnswered = false;
        outcomes.push(outcomeOf(message as ToolMessage, asked));
        break;
      default:
    }
  }
  const told = system.join("\n\n");
  return {
    system: told,
    outputSchema: (planner === null ? null : schemaIn(instruction)) ?? schemaIn(told),
    request,
    feedback,
    made,
    outcomes,
    given,
    past,
    earlier,
    memories,
    callCount,
    wish,
    instruction,
    planner,
    answered: planner === null ? answered : judged,
  };
}

/** What a planner asks stands apart from what is said before it in the same message. */
function withRequestApart(message: BaseMessage): readonly BaseMessage[] {
  const found = message.type === "human" ? readPlannerRequest(message.text) : null;
  if (found === null || found.before === "") return [message];
  return [new HumanMessage(found.before), new HumanMessage(found.text)];
}

function callKey(name: string, args: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(args).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([name, sorted]);
}

/** Returns whether the call was made since the last message of a person or a check, in full or as a line. */
export function wasMade(
  { made }: Pick<Conversation, "made">,
  name: string,
  args: Readonly<Record<string, unknown>>,
): boolean {
  return made.has(callKey(name, args)) || made.has(callSignature({ name, args }));
}

/** Of an id that this model gave: the calls before it may be told of no more. */
function numberIn(id: string | undefined): number {
  return Number(/^call_(\d{1,6})(?!\d)/.exec(id ?? "")?.[1] ?? 0);
}

function outcomeOf(
  message: ToolMessage,
  asked: ReadonlyMap<string, { name: string; args: Record<string, unknown> }>,
): Outcome {
  const call = asked.get(message.tool_call_id);
  return outcome({
    name: call?.name ?? message.name ?? "tool",
    args: call?.args ?? {},
    text: message.text.replace(/^\[summarised\] /, ""),
    failed: message.status === "error",
  });
}

function wishOf(text: string): Wish {
  if (/\breply with one json object\b/i.test(text)) return "object";
  if (/\bdo not call a tool yet\b/i.test(text)) return "plan";
  if (/\bwithout calling a tool\b/i.test(text)) return "finish";
  return "act";
}

function feedbackLines(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  const listed = lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(2));
  return listed.length > 0 ? listed : lines.filter((line) => line !== "");
}

/** From the line `Output JSON Schema: {…}` of a system message. */
function schemaIn(system: string): Schema | null {
  const line = /^Output JSON Schema:\s*(\{.*\})\s*$/m.exec(system)?.[1];
  if (line === undefined) return null;
  try {
    return JSON.parse(line) as Schema;
  } catch {
    return null;
  }
}

/** A tool as the offline model reads it. */
export interface OfflineTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface OfflineCall {
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** What arguments are read from. */
export interface Source {
  /** The part of the request that is being done. */
  readonly text: string;
  /** Results so far, oldest first, for "it", "that" and "the result". */
  readonly outcomes: readonly Outcome[];
}

/** Facts of the text are given to one argument only. */
export interface Search extends Source {
  readonly used: Set<string>;
}
