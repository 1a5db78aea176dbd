import { type LenientJson, scanJson } from "../replies/json-answer.ts";

/** One tool call that a model asked for in text. */
export interface TextFormAction {
  readonly name: string;
  /** An object or array where the model wrote JSON, else its text; `{}` where it wrote nothing. */
  readonly input: unknown;
  /** Why an input that begins like JSON could not be read; left out if it could. */
  readonly problem?: string;
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
export function readAction({ text, input }: ActionText, json: LenientJson): ReadAction {
  const body = withoutFences(text);
  if (body.startsWith("{")) return readBlob(body, json);
  const head = firstLine(body);
  const name = cleanName(head);
  if (noAction.test(name)) return { kind: "none" };
  if (input !== null && (input.value !== undefined || input.text !== "")) {
    const tool = callStart.exec(name)?.[1] ?? name;
    if (tool === "") return { kind: "problem", problem: 'An "Action:" line named no tool.' };
    return namedAction(tool, input.value ?? input.text, json);
  }
  if (name === "") return { kind: "problem", problem: 'An "Action:" line named no tool.' };
  const called = readCall(body, json);
  if (called !== null) return called;
  const rest = body.slice(head.length).trim();
  if (toolName.test(name)) return namedAction(name, rest === "" ? {} : rest, json);
  return {
    kind: "problem",
    problem: `"${clip(name)}" is not the name of a tool. Write the name alone after "Action:", and its input after "Action Input:".`,
  };
}

/** `tool[text]`, `tool(args)`. */
function readCall(body: string, json: LenientJson): ReadAction | null {
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
  const read = namedAction(name, input === "" ? {} : input, json);
  if (read.kind !== "call" || after === "" || after === ".") return read;
  const problem = `What followed ${name}${bracket}…${closing} on its line was ignored: "${clip(after)}".`;
  return { ...read, problem };
}

function readArguments(inner: string): unknown {
  return readQuoted(inner) ?? readNamedArguments(inner) ?? inner;
}

/** `{"action": "search", "action_input": {…}}` and the same in other words. */
function readBlob(body: string, json: LenientJson): ReadAction {
  const read = json.read(body);
  const blob: Record<string, unknown> = read.ok ? { ...read.value } : {};
  const name = blob["action"] ?? blob["name"] ?? blob["tool"] ?? blob["function"];
  if (typeof name === "string" && name !== "") {
    const keys = ["action_input", "arguments", "args", "input", "parameters"];
    const input = keys.map((key) => blob[key]).find((value) => value !== undefined);
    return namedAction(name, input ?? {}, json);
  }
  return {
    kind: "problem",
    problem: 'The action could not be read. Write the name of one tool after "Action:".',
  };
}

function namedAction(name: string, input: unknown, json: LenientJson): ReadAction {
  if (finish.test(name)) return { kind: "final", answer: answerText(input) };
  if (typeof input !== "string") return call(name, input);
  const text = withoutFences(input);
  if (text === "" && input !== "") return call(name, input, unreadableInput(name, "it is cut off"));
  const opening = text[0];
  if (opening !== "{" && opening !== "[") return call(name, text);
  const read = json.read(text);
  if (read.ok && (opening === "{" || !read.isMended || /^\[\s*["'{[\]]/.test(text))) {
    // A repair may turn a text that only begins with a bracket into a list.
    const keepsKind = Array.isArray(read.value) === (opening === "[");
    if (keepsKind) return call(name, read.value);
  }
  if (opening === "[" || read.ok) return call(name, text);
  return call(name, text, unreadableInput(name, read.problem));
}

function unreadableInput(name: string, why: string): string {
  return `The input of ${name} begins like JSON and could not be read: ${clip(why)}. Write it as one valid JSON object.`;
}

function call(name: string, input: unknown, problem?: string): ReadAction {
  const action = { name, input, ...(problem !== undefined && { problem }) };
  return { kind: "call", action, problem: null };
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

function clip(text: string): string {
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

/** Longer texts are not taken for arguments. */
const longest = 20_000;

const argumentName = /\s*([A-Za-z_][\w-]{0,127})\s{0,8}([=:])\s{0,8}/y;
const doubleQuoted = /"(?:[^"\\]|\\[^])*"/y;
const singleQuoted = /'(?:[^'\\]|\\[^])*'/y;
const bare = /[^,\n]+/y;
const separator = /\s*(?:[,\n]|$)\s*/y;

const constants = new Map<string, unknown>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

/**
 * Reads arguments as code writes them, `query="python", limit=5`, or `name: value` one a line. Bare values are JSON
 * where they are (`5`, `true`), else text. Null for anything else, and where a name was not in `names`.
 */
export function readNamedArguments(
  text: string,
  names?: ReadonlySet<string>,
): Record<string, unknown> | null {
  if (text.length > longest) return null;
  const named: [string, unknown][] = [];
  let at = 0;
  while (at < text.length) {
    const key = matchAt(argumentName, text, at);
    const name = key?.[1] ?? "";
    if (key === null || (names ? !names.has(name) : key[2] === ":")) return null;
    at += key[0].length;
    const value = valueAt(text, at);
    const end = matchAt(separator, text, at + value.length);
    if (value === "" || end === null) return null;
    at += value.length + end[0].length;
    named.push([name, readValue(value.trim())]);
  }
  return named.length === 0 ? null : Object.fromEntries(named);
}

/** The text within a quoted literal, `"a"` or `'a'`; null for anything else. */
export function readQuoted(text: string): string | null {
  const quote = text[0];
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.length > longest) return null;
  const literal = matchAt(quote === '"' ? doubleQuoted : singleQuoted, text, 0);
  if (literal?.[0].length !== text.length) return null;
  const inner = text.slice(1, -1);
  const json = quote === '"' ? inner : inner.replaceAll("\\'", "'").replaceAll('"', '\\"');
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return inner;
  }
}

function valueAt(text: string, at: number): string {
  const quoted = matchAt(doubleQuoted, text, at) ?? matchAt(singleQuoted, text, at);
  if (quoted !== null) return quoted[0];
  if (text[at] === "{" || text[at] === "[") {
    const { end, closed } = scanJson(text, at);
    if (closed) return text.slice(at, end);
  }
  return matchAt(bare, text, at)?.[0] ?? "";
}

function readValue(text: string): unknown {
  const quoted = readQuoted(text);
  if (quoted !== null) return quoted;
  if (constants.has(text)) return constants.get(text);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * Fits what a model wrote as a tool's input to the tool's schema, where it is no object: `query="python"` is taken
 * apart if the schema knows the names; else the whole becomes the schema's only property, or its only required one if
 * that is a string. A text in quotes loses them there, and becomes JSON where the property is no string. A tool
 * without properties gets `{}` for an empty text and words like "none". What fits nothing comes back as it was.
 */
export function toToolInput(input: unknown, inputSchema: Schema): unknown {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  const { properties } = inputSchema;
  const isBlank = input === null || input === undefined || input === "";
  if (!isSchema(properties)) return isBlank ? {} : input;
  const names = Object.keys(properties);
  if (names.length === 0) return isBlank || isNothing(input) ? {} : input;
  const named = typeof input === "string" ? readNamedArguments(input, new Set(names)) : null;
  if (named !== null) return named;
  const target = onlyProperty(names, properties, inputSchema["required"]);
  if (target === null || isBlank) return isBlank ? {} : input;
  return { [target]: fitTo(properties[target], input) };
}

function isNothing(input: unknown): boolean {
  return typeof input === "string" && noAction.test(input.trim());
}

function onlyProperty(
  names: readonly string[],
  properties: Schema,
  required: unknown,
): string | null {
  if (names.length === 1) return names[0] ?? null;
  const needed = Array.isArray(required) ? names.filter((name) => required.includes(name)) : [];
  const strings = needed.filter((name) => takesText(properties[name]));
  return needed.length === 1 ? (strings[0] ?? null) : null;
}

function takesText(property: unknown): boolean {
  if (!isSchema(property)) return true;
  const { type } = property;
  return (
    type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"))
  );
}

function fitTo(property: unknown, input: unknown): unknown {
  if (typeof input !== "string") return input;
  if (takesText(property)) return readQuoted(input) ?? input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
