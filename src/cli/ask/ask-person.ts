import type { Clock } from "../../clock.ts";
import { wordDecision } from "../../state/decision.ts";
import type { PendingRequest, ProposedCall } from "../../state/human-request.ts";
import type { LinePrompt } from "../io.ts";
import { callsOf, editable, requestLines } from "../view/request-lines.ts";
import { plainText } from "../view/plain-text.ts";
import type { Style } from "../view/style.ts";
import { callText } from "../view/tool-line.ts";
import { cutToWidth } from "../view/text-width.ts";
import { parsed, readAnswer, readEdit, type TypedAnswer } from "./read-answer.ts";

/** `left`: the person went away. `expired`: the time to answer is over. */
export type Asked = { readonly answer: unknown } | "left" | "expired";

export interface AskOptions {
  readonly prompt: LinePrompt;
  readonly print: (lines: readonly string[]) => void;
  readonly width: number;
  readonly style: Style;
  readonly clock: Clock;
  /** Aborting it is leaving. */
  readonly signal: AbortSignal;
}

/** A timer takes no more milliseconds. */
const longestDelay = 2 ** 31 - 1;

/** Shows a request, and asks for an answer until there is one that fits, the person leaves, or its time is over. */
export async function askPerson(request: PendingRequest, options: AskOptions): Promise<Asked> {
  const { clock, print, width, style } = options;
  const over = new AbortController();
  const left =
    request.expires_at === null ? null : Date.parse(request.expires_at) - clock.now().getTime();
  if (left !== null && left <= 0) return "expired";
  const cancel =
    left === null ? () => {} : clock.after(Math.min(left, longestDelay), () => over.abort());
  const signal = AbortSignal.any([options.signal, over.signal]);
  print(["", ...requestLines(request, width, style)]);
  try {
    const answer = await dialogue(request, { ...options, signal });
    if (answer !== null) return answer;
    if (!over.signal.aborted || options.signal.aborted) return "left";
    print([style.yellow("  Nobody answered in time.")]);
    return "expired";
  } finally {
    cancel();
  }
}

type Answer = { readonly answer: unknown };

/** Null when the question was abandoned. */
function dialogue(request: PendingRequest, options: AskOptions): Promise<Answer | null> {
  switch (request.kind) {
    case "input":
      return askValue(request, "answer", "", options);
    case "approval":
    case "edit":
      return decide(request, options, {
        question: "",
        edit: "new value",
        proposed: request.proposed,
        read: (text) => readEdit(request, text),
      });
    case "tool_approval":
      return decideCalls(request, options);
  }
}

async function decideCalls(request: PendingRequest, options: AskOptions): Promise<Answer | null> {
  const calls = callsOf(request);
  const decisions: [string, unknown][] = [];
  for (const call of calls) {
    const decided = await decide(request, options, {
      question: calls.length > 1 ? `${cutToWidth(callText(call), options.width - 40)}  ` : "",
      edit: "arguments",
      proposed: call.args,
      read: (text) => readArguments(request, calls, call, text),
    });
    if (decided === null) return null;
    decisions.push([call.id, decided.answer]);
  }
  return { answer: { decisions: Object.fromEntries(decisions) } };
}

function readArguments(
  request: PendingRequest,
  calls: readonly ProposedCall[],
  call: ProposedCall,
  text: string,
): TypedAnswer {
  const args = parsed(text);
  if (args === undefined) return { ok: false, answer: text, problem: "Expected JSON." };
  const answer = { decision: "edit", args: args.value };
  const others = calls.map(({ id }) => [id, id === call.id ? answer : "approve"] as const);
  const whole = readAnswer(request, JSON.stringify({ decisions: Object.fromEntries(others) }));
  return { ...whole, answer };
}

interface Decided {
  readonly question: string;
  /** What an edit asks for. */
  readonly edit: string;
  readonly proposed: unknown;
  readonly read: (text: string) => TypedAnswer;
}

async function decide(
  request: PendingRequest,
  options: AskOptions,
  { question, edit, proposed, read }: Decided,
): Promise<Answer | null> {
  const { prompt, style, signal, print } = options;
  const keys = style.dim("y approve · e edit · n reject");
  for (;;) {
    const line = await prompt.line(`  ${question}${keys} ${style.bold("›")} `, {
      signal,
    });
    if (line === null) return null;
    const word = wordDecision(line.trim());
    if (word === "approve") return { answer: { decision: "approve" } };
    if (word === "reject") {
      const reason = await prompt.line(`  ${style.dim("reason")} ${style.bold("›")} `, { signal });
      return reason === null ? null : { answer: { decision: "reject", reason: reason.trim() } };
    }
    if (["e", "edit"].includes(line.trim().toLowerCase())) {
      return askValue(request, edit, editable(proposed), options, read);
    }
    print([style.yellow("  Type y, e or n.")]);
  }
}

async function askValue(
  request: PendingRequest,
  label: string,
  prefilled: string,
  { prompt, style, signal, print }: AskOptions,
  read: (text: string) => TypedAnswer = (text) => readAnswer(request, text),
): Promise<Answer | null> {
  let shown = prefilled;
  for (;;) {
    const line = await prompt.line(`  ${style.dim(label)} ${style.bold("›")} `, {
      signal,
      prefilled: shown,
    });
    if (line === null) return null;
    if (line.trim() === "") {
      print([style.yellow("  Type an answer, or leave it for later with Ctrl-C.")]);
      continue;
    }
    const typed = asTyped(line, prefilled);
    const answer = read(typed);
    if (answer.ok) return { answer: answer.answer };
    print([style.yellow(`  ${plainText(answer.problem)}`)]);
    shown = line;
  }
}

/** A text of several lines stands in one line as a JSON string, to be edited as such. */
function asTyped(line: string, prefilled: string): string {
  const value = prefilled.startsWith('"') ? parsed(line)?.value : undefined;
  return typeof value === "string" ? value : line;
}
