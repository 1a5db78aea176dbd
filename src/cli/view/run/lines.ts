import type { ExecuteResult } from "../../../runtime/execute-agent.ts";
import type { Status } from "../../../state/lifecycle.ts";
import type { RailRecord } from "../../../state/rails.ts";
import type { IncompleteReason, TurnFailure } from "../../../state/turn.ts";
import type { Usage } from "../../../state/usage.ts";
import { totals } from "../figures.ts";
import { cutToWidth, plainLine, plainText, type Style, wrapText } from "../terminal.ts";
import {
  answerWords,
  eventWords,
  clientCallLines,
  requestLines,
  resultWords,
} from "./request-lines.ts";

export interface Opening {
  readonly agent: { readonly name: string; readonly version: string };
  /** `provider:model`; null where none is asked. */
  readonly model: string | null;
  /** Null where nothing is kept. */
  readonly threadId: string | null;
}

/** What runs, on which model, in which thread. */
export function openingLines(opening: Opening, width: number, style: Style): string[] {
  const { agent, model, threadId } = opening;
  const about = [
    agent.version,
    ...(model === null ? [] : [model]),
    ...(threadId === null ? [] : [`thread ${threadId}`]),
  ];
  const title = `${style.bold(agent.name)} ${style.dim(plainLine(about.join(" · ")))}`;
  const note = model === "offline:rules" ? wrapText(offlineNote, width).map(style.yellow) : [];
  return [title, ...note];
}

const offlineNote =
  "offline:rules is a rule-based stand-in, not a language model; set OPENAI_API_KEY or pass --model provider:model.";

export interface EndingOptions {
  readonly width: number;
  readonly style: Style;
  readonly elapsedMs: number;
  /** The command that resumes the thread; null if it is not stored. */
  readonly resume: string | null;
  /** Requests that are on the screen already, by id. */
  readonly asked?: ReadonlySet<string>;
  /** Whether the reasons why attempts were refused are on the screen already. */
  readonly hasRefused?: boolean;
}

/** How a run ended: the answer, or why there is none, and what it took. */
export function endingLines(
  result: Pick<
    ExecuteResult,
    | "status"
    | "output"
    | "interrupts"
    | "waits"
    | "toolCalls"
    | "incomplete"
    | "incomplete_reason"
    | "failure"
    | "attempts"
    | "steps"
    | "usage"
    | "invocation_usage"
  > &
    Partial<Pick<ExecuteResult, "cancel_reason">>,
  options: EndingOptions,
): string[] {
  const { style, elapsedMs } = options;
  const { usage, invocation_usage: ofRun } = result;
  const steps = result.steps.length;
  const lines = isSame(usage, ofRun)
    ? [totals({ steps, usage, elapsedMs })]
    : [
        `turn: ${totals({ steps, usage, elapsedMs: null })}`,
        `this run: ${totals({ steps: 0, usage: ofRun, elapsedMs })}`,
      ];
  return [...outcomeLines(result, options), ...lines.map(style.dim)];
}

/** Whether a turn has used what this run of it has: it was not resumed. Costs are sums of fractions, so tokens decide. */
function isSame(a: Usage, b: Usage): boolean {
  const names = ["tokens_in", "tokens_out", "llm_calls", "tool_calls"] as const;
  return names.every((name) => a[name] === b[name]);
}

function outcomeLines(result: Parameters<typeof endingLines>[0], options: EndingOptions): string[] {
  const { width, style, resume } = options;
  const { status, failure } = result;
  if (status === "COMPLETED") return answerLines(result, width, style);
  if (status === "FAILED") {
    const said = failure === null ? "" : failureText(failure, result.attempts.length, options);
    const reason = failure === null ? "" : `: ${plainText(said)} [${failure.cause}]`;
    return ["", ...wrapText(`✗ Failed${reason}`, width).map(style.red), ""];
  }
  if (status === "AWAITING_HUMAN") return waitingLines(result.interrupts, options);
  if (result.toolCalls.length > 0) return toolCallLines(result.toolCalls, options);
  if (result.waits.length > 0) return eventLines(result.waits, options);
  const why = result.cancel_reason == null ? "." : `: ${plainLine(result.cancel_reason)}.`;
  const stopped = status === "CANCELLED" ? `■ Cancelled${why}` : `■ Stopped at ${status}.`;
  if (resume === null) return ["", style.yellow(stopped), ""];
  return ["", style.yellow(`${stopped} To continue:`), `  ${resume}`, ""];
}

function failureText(
  { cause, message }: TurnFailure,
  attempts: number,
  { hasRefused = false }: EndingOptions,
): string {
  if (cause !== "attempts_exhausted" || !hasRefused) return message;
  return attempts === 1
    ? "the only attempt was refused."
    : `all ${attempts} attempts were refused.`;
}

/** What is waited for, and how it is answered. */
export function waitingLines(
  interrupts: ExecuteResult["interrupts"],
  { width, style, resume, asked }: Omit<EndingOptions, "elapsedMs">,
): string[] {
  const several = interrupts.length > 1;
  const title = several ? `Waits for ${interrupts.length} answers.` : "Waits for an answer.";
  const unseen = interrupts.filter(({ id }) => asked?.has(id) !== true);
  const requests = unseen.flatMap((request) => ["", ...requestLines(request, { width, style })]);
  const how =
    resume === null
      ? []
      : ["", style.yellow("To answer:"), `  ${resume} ${answerWords(interrupts)}`];
  return ["", style.yellow(`■ ${title}`), ...requests, ...how, ""];
}

/** The times and events that a run waits for, and how it goes on. */
function eventLines(
  waits: ExecuteResult["waits"],
  { width, style, resume }: Omit<EndingOptions, "elapsedMs">,
): string[] {
  const events = waits.filter(({ event }) => event !== undefined);
  const title = events.length > 0 ? "Waits for an event." : "Waits for a time.";
  const shown = waits.flatMap((request) => ["", ...requestLines(request, { width, style })]);
  const after = resume === null ? [] : ["", style.yellow("When it is over:"), `  ${resume}`];
  const given =
    resume === null || events.length === 0
      ? []
      : ["", style.yellow("To give the event:"), `  ${resume} ${eventWords(events)}`];
  return ["", style.yellow(`■ ${title}`), ...shown, ...given, ...after, ""];
}

/** The calls whose results are waited for, and how these are returned. */
function toolCallLines(
  calls: ExecuteResult["toolCalls"],
  { width, style, resume }: Omit<EndingOptions, "elapsedMs">,
): string[] {
  const what = calls.length === 1 ? "the result of a call" : `the results of ${calls.length} calls`;
  const shown = calls.flatMap((call) => ["", ...clientCallLines(call, { width, style })]);
  const how =
    resume === null
      ? []
      : ["", style.yellow("To return results:"), `  ${resume} ${resultWords(calls)}`];
  return ["", style.yellow(`■ Waits for ${what}.`), ...shown, ...how, ""];
}

function answerLines(
  { output, incomplete_reason: reason }: Pick<ExecuteResult, "output" | "incomplete_reason">,
  width: number,
  style: Style,
): string[] {
  const title = reason === null ? "Answer" : `Answer (incomplete: ${incompleteTexts[reason]})`;
  const rule = `── ${title} `.padEnd(Math.min(width, 80), "─");
  const text = plainText(answerText(output)).replace(/^\n+/, "").trimEnd();
  return ["", style.dim(rule), "", ...wrapText(text, width), ""];
}

/** Why an answer is incomplete, in words. */
export const incompleteTexts: Readonly<Record<IncompleteReason, string>> = {
  max_iterations: "the step limit was reached",
  length: "cut off at the output limit",
};

/** An output that is nothing but a message is that message; any other is JSON. */
export function answerText(output: unknown): string {
  if (typeof output === "string") return output;
  if (typeof output === "object" && output !== null) {
    const [[key, value] = [], ...others] = Object.entries(output);
    if (key === "message" && typeof value === "string" && others.length === 0) return value;
  }
  return JSON.stringify(output, null, 2) ?? "";
}

const colours: Readonly<Record<string, "green" | "yellow" | "red">> = {
  COMPLETED: "green",
  AWAITING_HUMAN: "yellow",
  CANCELLED: "yellow",
  FAILED: "red",
};

/** How a status is marked up. Threads of other graphs may have any text there. */
export function paintOfStatus(status: string | null, style: Style): (text: string) => string {
  const colour = Object.hasOwn(colours, status ?? "") ? colours[status ?? ""] : undefined;
  return colour === undefined ? (text) => text : style[colour];
}

/** What a run does at a status, in words. */
export const activities: Record<Status, string> = {
  CREATED: "starting",
  INITIALIZING: "starting",
  PLANNING: "planning",
  EXECUTING: "thinking",
  AWAITING_TOOL: "running tools",
  AWAITING_HUMAN: "waiting for a person",
  REFLECTING: "checking the answer",
  COMPLETED: "finishing",
  FAILED: "finishing",
  CANCELLED: "stopping",
};

const did = { redact: "redacted", block: "blocked", flag: "flagged" } as const;

/**
 * What a guardrail did, in a line: `▲ guardrail pii redacted the input: 2 EMAIL, 1 PHONE`, and which attachments it did
 * not check; none where it checked everything and passed.
 */
export function railLines(record: RailRecord, room: number, style: Style): string[] {
  const { rail, verdict, unchecked = [] } = record;
  const marked = (text: string, mark: string) => `${mark} ${cutToWidth(plainLine(text), room - 2)}`;
  const yellow = style.yellow("▲");
  const missed = unchecked.length > 0;
  const note = missed
    ? [marked(`guardrail ${rail} did not check ${unchecked.join(", ")}`, yellow)]
    : [];
  if (verdict === "pass") return note;
  const found = foundIn(record);
  const line = `guardrail ${rail} ${did[verdict]} ${placeOf(record)}${found === "" ? "" : `: ${found}`}`;
  return [marked(line, verdict === "block" ? style.red("▲") : yellow), ...note];
}

function placeOf({ on, memory_id: memory }: RailRecord): string {
  if (memory !== undefined) return "a memory";
  switch (on) {
    case "input":
      return "the input";
    case "tool_call":
      return "a tool call";
    case "tool_result":
      return "a tool result";
    case "output":
      return "the output";
  }
}

/** What was found by kind; else why. */
function foundIn({ spans, reasons }: RailRecord): string {
  const counts = new Map<string, number>();
  for (const { label } of spans) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (counts.size === 0) return reasons.join("; ");
  return [...counts].map(([label, times]) => `${times} ${label}`).join(", ");
}
