import type { Clock } from "../../clock.ts";
import { bindAnswer } from "../../state/human-answer.ts";
import { wordDecision } from "../../state/answer-schema.ts";
import type { ToolCallResult } from "../../runtime/execute-agent.ts";
import type { ClientCall, PendingRequest, ProposedCall } from "../../state/human-request.ts";
import type { LinePrompt } from "../io.ts";
import { type Page, pagesOf, type Passage, plainText, type Style } from "../view/terminal.ts";
import {
  callPassages,
  callsOf,
  editable,
  moreCharacters,
  requestPassages,
  requestTitle,
} from "../view/run/request-lines.ts";
import { isRecord } from "../../values/json.ts";
import { askFields, type FormField, formFields } from "./ask-fields.ts";
import { newValueSchema, parsed, readAnswer, readEdit, type TypedAnswer } from "./given-answers.ts";

/** Results of calls, typed by a person. `left`: the person went away. */
export type TypedResults = readonly ToolCallResult[] | "left";

/** `left`: the person went away. `expired`: the time to answer is over. */
export type PromptResult = { readonly answer: unknown } | "left" | "expired";

export interface PromptOptions {
  readonly prompt: LinePrompt;
  readonly print: (lines: readonly string[]) => void;
  readonly width: number;
  readonly style: Style;
  readonly clock: Clock;
  /** Aborting it is leaving. */
  readonly signal: AbortSignal;
  /** Where to give what is too long to be edited on a line. Default: in an answer on the command line. */
  readonly elsewhere?: string;
}

/** A timer takes no more milliseconds. */
const longestDelay = 2 ** 31 - 1;

/**
 * Shows a request, and asks for an answer until there is one that fits, the person leaves, or its time is over. What does
 * not fit on a page is not approved before it was shown, or said to be approved unseen. The answer names the hash of
 * what was shown.
 */
export async function promptUser(
  request: PendingRequest,
  options: PromptOptions,
): Promise<PromptResult> {
  const { clock, print, width, style } = options;
  const over = new AbortController();
  const left =
    request.expires_at === null ? null : Date.parse(request.expires_at) - clock.now().getTime();
  if (left !== null && left <= 0) return "expired";
  const cancel =
    left === null ? () => {} : clock.after(Math.min(left, longestDelay), () => over.abort());
  const signal = AbortSignal.any([options.signal, over.signal]);
  print(["", requestTitle(request, { width, style })]);
  try {
    const answer = await dialogue(request, { ...options, signal });
    if (answer !== null) return { answer: bindAnswer(request, answer.answer) };
    if (!over.signal.aborted || options.signal.aborted) return "left";
    print([style.yellow("  No answer arrived in time.")]);
    return "expired";
  } finally {
    cancel();
  }
}

/**
 * Shows calls of client tools one by one, and asks for the result of each: JSON, or `!` and why the call failed. The
 * engine checks results against the schemas of the tools.
 */
export async function promptResults(
  calls: readonly ClientCall[],
  options: Omit<PromptOptions, "clock">,
): Promise<TypedResults> {
  const { prompt, print, style, signal } = options;
  const results: ToolCallResult[] = [];
  for (const { call_id, request_id, tool, input } of calls) {
    const number = calls.length > 1 ? ` ${results.length + 1} of ${calls.length}` : "";
    print(["", `${style.bold("?")} ${style.dim(`Result of call${number}`)}`]);
    const passages = callPassages({ id: call_id, name: tool, args: input, reason: "" }, options);
    const reader = new Reader(passages, options);
    for (;;) {
      const label = "JSON, or ! and an error";
      const question = style.dim(reader.left > 0 ? `Enter views more · ${label}` : label);
      const line = await prompt.line(`  ${question} ${style.bold("›")} `, { signal });
      if (line === null) return "left";
      const typed = line.trim();
      const value = parsed(typed);
      const error = typed.startsWith("!") ? typed.slice(1).trim() : "";
      if (value !== undefined) results.push({ call_id, request_id, output: value.value });
      else if (error !== "") results.push({ call_id, request_id, error });
      else {
        if (typed === "" && reader.left > 0) reader.more();
        else print([style.yellow('  Type JSON: "a text", 42 or {"city":"Oslo"}.')]);
        continue;
      }
      break;
    }
  }
  return results;
}

type Answer = { readonly answer: unknown };

/** Null when the question was abandoned. */
function dialogue(request: PendingRequest, options: PromptOptions): Promise<Answer | null> {
  const passages = requestPassages(request, options);
  switch (request.kind) {
    case "input": {
      const fields = formFields(newValueSchema(request));
      const read = (text: string) => readAnswer(request, text);
      return fields === null
        ? askValue(request, { label: "answer", passages }, options)
        : askForm(fields, { before: {}, passages, read }, options);
    }
    case "approval":
    case "edit":
      return decide(request, options, {
        passages,
        edit: { label: "new value", form: '{"decision":"edit","value":…}' },
        proposed: request.proposed,
        fields: formFields(newValueSchema(request)),
        read: (text) => readEdit(request, text),
      });
    case "wait":
      return askValue(request, { label: "payload", passages }, options);
    case "tool_calls":
      return askValue(request, { label: "results as JSON", passages }, options);
    case "tool_approval":
      return decideCalls(request, passages, options);
  }
}

/** Each call is shown before it is asked about. */
async function decideCalls(
  request: PendingRequest,
  passages: readonly Passage[],
  options: PromptOptions,
): Promise<Answer | null> {
  const calls = callsOf(request);
  const decisions: [string, unknown][] = [];
  for (const [index, call] of calls.entries()) {
    const { style } = options;
    const number = style.dim(`  call ${index + 1} of ${calls.length}`);
    const counted = calls.length > 1 ? [{ text: "", lines: () => [number] }] : [];
    const decided = await decide(request, options, {
      passages: [...(index === 0 ? passages : []), ...counted, ...callPassages(call, options)],
      edit: { label: "arguments", form: '{"decision":"edit","args":{…}}' },
      proposed: call.args,
      fields: null,
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
  /** What is decided on. */
  readonly passages: readonly Passage[];
  /** What an edit asks for, and how an answer elsewhere says it. */
  readonly edit: { readonly label: string; readonly form: string };
  readonly proposed: unknown;
  /** The fields of a new value; null if it is written as JSON. */
  readonly fields: readonly FormField[] | null;
  readonly read: (text: string) => TypedAnswer;
}

/** Shows pages one by one. */
class Reader {
  readonly #pages: Iterator<Page, undefined>;
  readonly #options: Pick<PromptOptions, "print" | "style">;
  /** Characters that were not shown yet. */
  left = 0;

  constructor(passages: readonly Passage[], options: Pick<PromptOptions, "print" | "style">) {
    this.#pages = pagesOf(passages);
    this.#options = options;
    this.more();
  }

  more(): void {
    const { print, style } = this.#options;
    const page = this.#pages.next().value;
    this.left = page?.left ?? 0;
    const rest = this.left === 0 ? [] : [`  ${style.yellow(moreCharacters(this.left))}`];
    print([...(page?.lines ?? []), ...rest]);
  }
}

/** Approves what was not shown whole. */
const unseenWords = "approve unseen";
/** Characters that can be edited on a line of a terminal. */
const editableCharacters = 4000;

async function decide(
  request: PendingRequest,
  options: PromptOptions,
  { passages, edit, proposed, fields, read }: Decided,
): Promise<Answer | null> {
  const { prompt, style, signal, print } = options;
  const reader = new Reader(passages, options);
  for (;;) {
    const isCut = reader.left > 0;
    const keys = style.dim(`${isCut ? "v view more" : "y approve"} · e edit · n reject`);
    const line = await prompt.line(`  ${keys} ${style.bold("›")} `, { signal });
    if (line === null) return null;
    const typed = line.trim().toLowerCase();
    const word = wordDecision(typed);
    if (isCut ? typed === unseenWords : word === "approve") {
      return { answer: { decision: "approve" } };
    }
    if (word === "reject") {
      const reason = await prompt.line(`  ${style.dim("reason")} ${style.bold("›")} `, { signal });
      return reason === null ? null : { answer: { decision: "reject", reason: reason.trim() } };
    }
    if (isCut && typed === "v") reader.more();
    else if (word === "approve") {
      const rest = `${moreCharacters(reader.left)} were not shown`;
      print([style.yellow(`  ${rest}: type v to view them, or "${unseenWords}".`)]);
    } else if (["e", "edit"].includes(typed)) {
      if (fields !== null && isFilled(proposed, fields)) {
        return askForm(fields, { before: proposed, read }, options);
      }
      const prefilled = editable(proposed);
      if (prefilled.length <= editableCharacters) {
        return askValue(request, { label: edit.label, prefilled, read }, options);
      }
      print([style.yellow(`  ${tooLong(prefilled, edit.form, options)}`)]);
    } else print([style.yellow(`  Type ${isCut ? "v" : "y"}, e or n.`)]);
  }
}

/** Returns whether a value has no properties but the fields. */
function isFilled(
  value: unknown,
  fields: readonly FormField[],
): value is Readonly<Record<string, unknown>> {
  const names = new Set(fields.map(({ name }) => name));
  return isRecord(value) && Object.keys(value).every((name) => names.has(name));
}

/** Asks for the fields of an object until the whole fits. */
async function askForm(
  fields: readonly FormField[],
  of: {
    readonly before: Readonly<Record<string, unknown>>;
    /** Default: none are left to show. */
    readonly passages?: readonly Passage[];
    readonly read: (text: string) => TypedAnswer;
  },
  options: PromptOptions,
): Promise<Answer | null> {
  const { prompt, style, signal, print } = options;
  const reader = of.passages && new Reader(of.passages, options);
  for (;;) {
    if (reader === undefined || reader.left === 0) break;
    const question = style.dim("Enter views more · a answers");
    const line = await prompt.line(`  ${question} ${style.bold("›")} `, { signal });
    if (line === null) return null;
    if (line.trim() !== "") break;
    reader.more();
  }
  let { before } = of;
  for (;;) {
    const values = await askFields(fields, before, options);
    if (values === null) return null;
    const answer = of.read(JSON.stringify(values));
    if (answer.ok) return { answer: answer.answer };
    print([style.yellow(`  ${plainText(answer.problem)}`)]);
    before = values;
  }
}

function tooLong(text: string, form: string, { elsewhere }: PromptOptions): string {
  const most = editableCharacters.toLocaleString("en");
  const instead = elsewhere ?? `leave with Ctrl-C and give --answer '${form}'`;
  return `${text.length.toLocaleString("en")} characters are too long to edit on one line (maximum ${most}): reject, or ${instead}.`;
}

async function askValue(
  request: PendingRequest,
  of: {
    readonly label: string;
    readonly prefilled?: string;
    /** Left out, they were shown. */
    readonly passages?: readonly Passage[];
    readonly read?: (text: string) => TypedAnswer;
  },
  options: PromptOptions,
): Promise<Answer | null> {
  const { prompt, style, signal, print } = options;
  const { label, prefilled = "", passages, read = (text) => readAnswer(request, text) } = of;
  const reader = passages && new Reader(passages, options);
  let shown = prefilled;
  for (;;) {
    const isCut = reader !== undefined && reader.left > 0;
    const question = style.dim(isCut ? `Enter views more · ${label}` : label);
    const line = await prompt.line(`  ${question} ${style.bold("›")} `, {
      signal,
      prefilled: shown,
    });
    if (line === null) return null;
    if (line.trim() === "") {
      if (isCut) reader.more();
      else print([style.yellow("  Type an answer, or press Ctrl-C to answer later.")]);
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
