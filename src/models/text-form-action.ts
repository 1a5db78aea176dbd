import { readNamedArguments, readQuoted } from "./call-arguments.ts";
import type { LooseJson } from "./loose-json.ts";

/** One tool call that a model asked for in text. */
export interface TextFormAction {
  readonly name: string;
  /** An object or array where the model wrote JSON, else its text; `{}` where it wrote nothing. */
  readonly input: unknown;
}

export type ReadAction =
  | { readonly kind: "call"; readonly action: TextFormAction; readonly problem: string | null }
  /** `Finish[…]` and its like. */
  | { readonly kind: "final"; readonly answer: string }
  /** `Action: None`. */
  | { readonly kind: "none" }
  | { readonly kind: "problem"; readonly problem: string };

/** What stands under an `Action:` label and, where there is one, under the `Action Input:` after it. */
export interface ActionText {
  readonly text: string;
  readonly input: { readonly text: string; readonly value?: object } | null;
}

const callStart = /^([\w.:/-]{1,128}) ?([[(])/;
const toolName = /^[\w.:/-]{1,128}$/;
const noAction = /^(none|null|nothing|n\/?a|no action( is)?( needed| required| necessary)?|-+)$/i;
const finish = /^(finish|final[\s_-]{0,2}answer)$/i;
const shownCharacters = 120;

/** Reads an action in any of the forms that models write it in. */
export function readAction({ text, input }: ActionText, json: LooseJson): ReadAction {
  const body = withoutFences(text);
  if (body.startsWith("{")) return readBlob(body, json);
  const head = firstLine(body);
  const name = cleanName(head);
  if (noAction.test(name)) return { kind: "none" };
  if (input !== null && (input.value !== undefined || input.text !== "")) {
    const tool = callStart.exec(name)?.[1] ?? name;
    if (tool === "") return { kind: "problem", problem: 'An "Action:" line named no tool.' };
    return named(tool, input.value ?? input.text, json);
  }
  if (name === "") return { kind: "problem", problem: 'An "Action:" line named no tool.' };
  const called = readCall(body, json);
  if (called !== null) return called;
  const rest = body.slice(head.length).trim();
  if (toolName.test(name)) return named(name, rest === "" ? {} : rest, json);
  return {
    kind: "problem",
    problem: `"${clip(name)}" is not the name of a tool. Write the name alone after "Action:", and its input after "Action Input:".`,
  };
}

/** `tool[text]`, `tool(args)`. */
function readCall(body: string, json: LooseJson): ReadAction | null {
  const text = body.replace(/^[`*]{1,3}/, "").replace(/[`*]{1,3}$/, "");
  const match = callStart.exec(text);
  if (match === null) return null;
  const [opening, name = "", bracket] = match;
  const closing = bracket === "[" ? "]" : ")";
  const line = firstLine(text);
  const scope = /[\])]\.?$/.test(text) ? text : line;
  const end = scope.lastIndexOf(closing);
  const inner = scope.slice(opening.length, end < opening.length ? undefined : end).trim();
  const after = end < opening.length ? "" : scope.slice(end + 1).trim();
  const input = bracket === "[" ? inner : readArguments(inner);
  const read = named(name, input === "" ? {} : input, json);
  if (read.kind !== "call" || after === "" || after === ".") return read;
  const problem = `What followed ${name}${bracket}…${closing} on its line was ignored: "${clip(after)}".`;
  return { ...read, problem: joined(read.problem, problem) };
}

function readArguments(inner: string): unknown {
  return readQuoted(inner) ?? readNamedArguments(inner) ?? inner;
}

/** `{"action": "search", "action_input": {…}}` and the same in other words. */
function readBlob(body: string, json: LooseJson): ReadAction {
  const read = json.read(body);
  const blob: Record<string, unknown> = read.ok ? { ...read.value } : {};
  const name = blob["action"] ?? blob["name"] ?? blob["tool"] ?? blob["function"];
  if (typeof name === "string" && name !== "") {
    const keys = ["action_input", "arguments", "args", "input", "parameters"];
    const input = keys.map((key) => blob[key]).find((value) => value !== undefined);
    return named(name, input ?? {}, json);
  }
  return {
    kind: "problem",
    problem: 'The action could not be read. Write the name of one tool after "Action:".',
  };
}

function named(name: string, input: unknown, json: LooseJson): ReadAction {
  if (finish.test(name)) return { kind: "final", answer: answerText(input) };
  if (typeof input !== "string") return call(name, input);
  const text = withoutFences(input);
  const opening = text[0];
  if (opening !== "{" && opening !== "[") return call(name, text);
  const read = json.read(text);
  if (read.ok && (opening === "{" || !read.isMended || /^\[\s*["'{[\]]/.test(text))) {
    // A repair may turn a text that only begins with a bracket into a list.
    const keepsKind = Array.isArray(read.value) === (opening === "[");
    if (keepsKind) return call(name, read.value);
  }
  if (opening === "[" || read.ok) return call(name, text);
  const problem = `The input of ${name} begins like JSON and could not be read: ${clip(read.problem)}. Write it as one valid JSON object.`;
  return call(name, text, problem);
}

function call(name: string, input: unknown, problem: string | null = null): ReadAction {
  return { kind: "call", action: { name, input }, problem };
}

function answerText(input: unknown): string {
  if (typeof input === "string") return withoutFences(input);
  const values = typeof input === "object" && input !== null ? Object.values(input) : [];
  const [only] = values;
  return values.length === 1 && typeof only === "string" ? only : (JSON.stringify(input) ?? "");
}

/** Without a code block's marks around the whole. */
function withoutFences(text: string): string {
  const open = /^(?:`{3,}|~{3,})[\w+-]{0,20}(?:\n|$)/.exec(text);
  if (open === null) return text;
  const inner = text.slice(open[0].length).trimEnd();
  return inner.replace(/(?:`{3,}|~{3,})$/, "").trim();
}

/** A tool's name without the quotes, emphasis and full stops that models put around it. */
function cleanName(line: string): string {
  const inner = line.replace(/^[\s"'`*_<[(]{1,8}/, "");
  const kept = /[[(]/.test(inner) ? inner : inner.replace(/[\s"'`*>\]).,:;]{1,8}$/, "");
  return kept.replace(/[.,:;]{1,3}$/, "").trim();
}

function firstLine(text: string): string {
  const newline = text.indexOf("\n");
  return newline < 0 ? text : text.slice(0, newline);
}

function joined(first: string | null, second: string): string {
  return first === null ? second : `${first} ${second}`;
}

function clip(text: string): string {
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}
