import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { stepMessages } from "../../src/context/step-messages.ts";
import type { StepRecord, ToolResult } from "../../src/state/step-record.ts";
import { isRecord } from "../../src/values/json.ts";
import { noUsage } from "../../src/state/usage.ts";
import { tokensOfAll } from "./counting.ts";
import { dataPieces, type DataMessage, type Trajectory } from "./trajectories.ts";

/** One or more runs as one thread: what a person and the agent said, and what the agent did. */
export interface Thread {
  readonly conversation: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
  /** Every message but the system prompts. */
  readonly raw: readonly DataMessage[];
  /** The moments when a tool was called, in order. */
  readonly calls: readonly Call[];
  /** The moments of all replies, calls and answers, in order. */
  readonly replies: readonly Reply[];
}

/** A moment at which a model was called. */
export interface Reply {
  readonly before: Call["before"];
  readonly turn: number | undefined;
  /** Null for a call of tools. */
  readonly answer: string | null;
}

/** A moment at which a model decided on a tool call, and how much of the thread was there before. */
export interface Call {
  readonly run: string;
  /** Index of the message in its run. */
  readonly at: number;
  /** The turn's number, where contexts are told of it. */
  readonly turn: number | undefined;
  /** Which of the thread's runs it is in, 0-based. */
  readonly place: number;
  /** Empty for calls that need nothing of earlier results. */
  readonly needed: readonly string[];
  /** Texts and numbers of each object in lists of the arguments: a flight, a passenger, a payment. */
  readonly entries: readonly (readonly string[])[];
  readonly before: {
    readonly conversation: number;
    readonly steps: number;
    readonly messages: number;
    /** Tokens of these messages, and of the run's system prompt. */
    readonly tokens: number;
    readonly system: number;
  };
}

export interface ThreadOptions {
  /**
   * Whether contexts are asked for as a run does it: calls and their results stand in the conversation too, and the
   * number of the turn is given. Default false: the conversation is what was said, and nothing more is known.
   */
  readonly withCalls?: boolean;
}

/** A run as a thread, or several in a row: turn numbers go on, and every message of the person begins a turn. */
export function threadOf(runs: readonly Trajectory[], options: ThreadOptions = {}): Thread {
  const conversation: BaseMessage[] = [];
  const steps: StepRecord[] = [];
  const raw: DataMessage[] = [];
  const calls: Call[] = [];
  const replies: Reply[] = [];
  let turn = -1;
  let index = 0;
  let tokens = 0;
  for (const [place, { id, messages, needed }] of runs.entries()) {
    const values = new Map(needed.map((need) => [need.at, need.values]));
    for (const [at, message] of messages.entries()) {
      if (message.role === "system") continue;
      const before = {
        conversation: conversation.length,
        steps: steps.length,
        messages: raw.length,
        tokens,
        system: tokensOfAll(dataPieces(messages[0] as DataMessage)),
      };
      if (message.role === "assistant") {
        const answer = message.tool_calls === undefined ? (message.content ?? "") : null;
        replies.push({ before, turn, answer });
      }
      if (message.role === "user") {
        turn += 1;
        index = 0;
        conversation.push(new HumanMessage(message.content ?? ""));
      } else if (message.tool_calls !== undefined) {
        const told = options.withCalls ? turn : undefined;
        const results = messages.slice(at + 1, at + 1 + message.tool_calls.length);
        const step = stepOf(message, results, { turn, index, number: steps.length });
        const entries = entriesIn(step.tool_predictions.map(({ args }) => Object.values(args)));
        const needs = values.get(at) ?? [];
        calls.push({ run: id, at, turn: told, place, needed: needs, entries, before });
        steps.push(step);
        if (options.withCalls) conversation.push(...stepMessages(step, "native"));
        index += 1;
      } else if (message.role === "assistant") {
        conversation.push(new AIMessage(message.content ?? ""));
      }
      raw.push(message);
      tokens += tokensOfAll(dataPieces(message));
    }
  }
  return { conversation, steps, raw, calls, replies };
}

/** Threads of `length` runs in a row, one beginning at each of the runs: each run is the last of one thread. */
export function longThreads(
  runs: readonly Trajectory[],
  options: ThreadOptions & { readonly length: number; readonly count: number },
): readonly Thread[] {
  return Array.from({ length: Math.min(options.count, runs.length) }, (_, first) =>
    threadOf(
      Array.from(
        { length: options.length },
        (_none, place) => runs[(first + place) % runs.length] as Trajectory,
      ),
      options,
    ),
  );
}

function entriesIn(value: unknown): readonly (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap(entriesIn);
  if (!isRecord(value)) return [];
  const own = Object.values(value);
  const scalars = own.filter((one) => typeof one === "string" || typeof one === "number");
  return [scalars.map(String), ...own.flatMap(entriesIn)];
}

function stepOf(
  message: DataMessage,
  answers: readonly DataMessage[],
  at: { readonly turn: number; readonly index: number; readonly number: number },
): StepRecord {
  const asked = (message.tool_calls ?? []).map(({ function: { name, arguments: args } }, call) => ({
    id: `call-${at.number}-${call}`,
    name,
    args: JSON.parse(args) as Record<string, unknown>,
  }));
  return {
    turn_number: at.turn,
    attempt_number: 0,
    step_index: at.index,
    node: "reason",
    timestamp: new Date(Date.UTC(2024, 4, 15) + 1000 * at.number).toISOString(),
    mode: "fast",
    thought: message.content ?? "",
    planning: "",
    reflection: "",
    approach: "",
    next_action: "use_tools",
    tool_predictions: asked.map((call) => ({ ...call, reason: "" })),
    tool_results: asked.map((call, index) => resultOf(call, answers[index]?.content ?? "")),
    concurrent_execution: false,
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: "",
    usage: noUsage,
    model: "bench:o200k",
    fallback: null,
  };
}

/** Results are JSON where they are JSON. Those that begin with "Error" failed, with their text as the message. */
function resultOf(call: Pick<ToolResult, "id" | "name" | "args">, content: string): ToolResult {
  const failed = content.startsWith("Error");
  return {
    ...call,
    result: failed ? null : parsed(content),
    error: failed ? content : null,
    outcome: failed ? "failure" : "success",
    execution_time_ms: 0,
    insights: "",
    learning: "",
    relevance: "",
  };
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return content;
  }
}
