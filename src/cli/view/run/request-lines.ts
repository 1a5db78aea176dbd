import {
  type ClientCall,
  clientCallsIn,
  type PendingRequest,
  type ProposedCall,
} from "../../../state/human-request.ts";
import { isRecord } from "../../../values/json.ts";
import { shellCommand } from "../../command-line.ts";
import { newValueSchema } from "../../ask/given-answers.ts";
import {
  cutToWidth,
  pagesOf,
  type Passage,
  plainLine,
  type Style,
  textWidth,
  visibleText,
  wrapText,
} from "../terminal.ts";
import { plainJson } from "../../../values/diff.ts";
import { printableJson } from "../values.ts";

export interface RequestView {
  readonly width: number;
  readonly style: Style;
}

/**
 * What a person is asked: who asks, how long there is, the question, and what is proposed. Nothing is cut but what does not
 * fit on a page, and then the last line says how much; `full` has all pages.
 */
export function requestLines(
  request: PendingRequest,
  view: RequestView & { readonly full?: boolean },
): string[] {
  const { style, full = false } = view;
  const calls = callsOf(request).flatMap((call) => callPassages(call, view));
  const lines = [requestTitle(request, view)];
  for (const page of pagesOf([...requestPassages(request, view), ...calls])) {
    lines.push(...page.lines);
    if (full || page.left === 0) continue;
    const rest = `${moreCharacters(page.left)} not shown: "show THREAD --full" prints them.`;
    return [...lines, `  ${style.yellow(rest)}`];
  }
  return lines;
}

/** `… 1,234 more characters` */
export function moreCharacters(left: number): string {
  return `… ${left.toLocaleString("en")} more ${left === 1 ? "character" : "characters"}`;
}

/** Who asks for what, and how long there is. */
export function requestTitle(
  { kind, node, within, expires_at: expires, plan_limits }: PendingRequest,
  { style }: RequestView,
): string {
  const until = expires === null ? "" : ` · until ${expires.slice(0, 16).replace("T", " ")} UTC`;
  const asker = cutToWidth(plainLine([...within, node].join(" › ")), 60);
  const what = plan_limits === undefined ? asks[kind] : "asks for approval or changes of a plan";
  return `${style.bold(`? ${asker}`)} ${style.dim(`${what}${until}`)}`;
}

const asks: Readonly<Record<PendingRequest["kind"], string>> = {
  approval: "asks for approval",
  edit: "asks for approval or changes",
  input: "asks for input",
  tool_approval: "asks for approval of tool calls",
  tool_calls: "waits for tool results",
  wait: "waits",
};

/** The question with what is proposed, but for calls, and what was wrong with the answer before. */
export function requestPassages(request: PendingRequest, view: RequestView): readonly Passage[] {
  const { prompt, problem } = request;
  const room = roomOf(view);
  const { style } = view;
  const indented = (text: string) => wrapText(text, room).map((line) => line && `  ${line}`);
  const proposed = proposedText(request, room - 2);
  return [
    { text: prompt, lines: (part) => (part === "" ? [] : indented(visibleText(part))) },
    ...hint(request).map((text) => {
      return { text, lines: (part: string) => indented(visibleText(part)).map(style.dim) };
    }),
    ...(proposed === "" ? [] : [{ text: proposed, lines: besideBar(view, "") }]),
    ...(problem === undefined
      ? []
      : [
          {
            text: `! ${problem}`,
            lines: (part: string) => indented(visibleText(part)).map(style.yellow),
          },
        ]),
  ];
}

/** A call: its name, each argument whole on lines of its own, those that decide first, and why the model makes it. */
export function callPassages(call: ProposedCall, view: RequestView): readonly Passage[] {
  const { name, args, reason, order = [] } = call;
  const first = order.filter((key) => Object.hasOwn(args, key));
  const keys = [...new Set([...first, ...Object.keys(args)])];
  const { style } = view;
  return [
    {
      text: "",
      lines: () => besideBar(view, "")(keys.length === 0 ? `${name}()` : name),
    },
    ...keys.map((key) => argumentPassage(key, args[key], view)),
    ...(reason === ""
      ? []
      : [{ text: reason, lines: besideBar(view, "  ", (line) => style.dim(line)) }]),
  ];
}

function argumentPassage(key: string, value: unknown, view: RequestView): Passage {
  const isText = typeof value === "string" && /[\r\n]/.test(value);
  const name = /^[\p{L}\p{N}_.$-]{1,60}$/u.test(key) ? key : JSON.stringify(key);
  const text = isText ? value.replaceAll(/\r\n?/g, "\n") : jsonText(value, roomOf(view) - 6);
  // A name that is no name is as long as a model makes it.
  if (name.length > 62) return { text: `${name}: ${text}`, lines: besideBar(view, "  ") };
  const below = besideBar(view, "    ");
  return {
    text,
    lines: (part, isFirst) => {
      if (!isFirst) return below(part);
      const line = `${name}: ${visibleText(part)}`;
      const fits = !isText && part === text && !part.includes("\n");
      if (fits && textWidth(line) <= roomOf(view) - 4) return besideBar(view, "  ")(line);
      return [...besideBar(view, "  ")(isText ? `${name} (text):` : `${name}:`), ...below(part)];
    },
  };
}

/** Lays out lines behind the bar that marks a proposal. */
function besideBar(
  view: RequestView,
  indent: string,
  paint: (line: string) => string = (line) => line,
): (part: string) => string[] {
  const bar = view.style.dim("│");
  return (part) =>
    wrapText(visibleText(part.replace(/\n$/, "")), roomOf(view) - 2 - indent.length).map((line) =>
      `  ${bar} ${indent}${paint(line)}`.trimEnd(),
    );
}

/** Columns that lines of a request may take. */
function roomOf({ width }: RequestView): number {
  return Math.max(20, Math.min(width, 160) - 4);
}

/** What an input has to look like, unless it is any text. */
function hint(request: PendingRequest): string[] {
  if (request.kind !== "input") return [];
  const schema = newValueSchema(request);
  const form = schema === undefined ? "text" : formOf(schema);
  return form === "text" ? [] : [`as ${plainLine(form)}`];
}

/** `{ pieces: integer, note?: text }` */
function formOf(schema: unknown): string {
  if (!isRecord(schema)) return "JSON";
  const { type, properties, required, items, enum: values } = schema;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (type === "string") return "text";
  if (type === "array") return `[${formOf(items)}, …]`;
  if (type !== "object") return typeof type === "string" ? type : "JSON";
  if (!isRecord(properties)) return "JSON object";
  const needed = new Set(Array.isArray(required) ? required : []);
  const fields = Object.entries(properties).map(
    ([name, field]) => `${name}${needed.has(name) ? "" : "?"}: ${formOf(field)}`,
  );
  return `{ ${fields.join(", ")} }`;
}

function proposedText(request: PendingRequest, room: number): string {
  const { kind, proposed } = request;
  if (kind === "tool_approval" || kind === "tool_calls" || proposed === null) return "";
  if (request.plan_limits !== undefined && isRecord(proposed)) return planText(proposed);
  return typeof proposed === "string"
    ? proposed.replaceAll(/\r\n?/g, "\n")
    : jsonText(proposed, room);
}

/** Each subtask with its worker and what it waits for, above what it has to do. Requests are read from storage. */
function planText({ subtasks, success_criteria: criteria }: Record<string, unknown>): string {
  const list: readonly unknown[] = Array.isArray(subtasks) ? subtasks : [];
  const text = (value: unknown) => (typeof value === "string" ? value : plainJson(value, 0));
  const blocks = list.map((subtask) => {
    if (!isRecord(subtask)) return text(subtask);
    const { id, description, dependencies, worker, expected_output: output, ...others } = subtask;
    const after = Array.isArray(dependencies) ? dependencies.map(text).join(", ") : "";
    const title = [
      text(id),
      ...(worker === undefined ? [] : [`(${text(worker)})`]),
      ...(after === "" ? [] : [`after ${after}`]),
    ];
    const below = [
      text(description),
      ...(output === undefined ? [] : [`→ ${text(output)}`]),
      ...(Object.keys(others).length === 0 ? [] : [text(others)]),
    ];
    const indented = below.map((part) => `  ${part.replaceAll(/[\r\n]+/g, "\n  ")}`);
    return [plainLine(title.join(" ")), ...indented].join("\n");
  });
  const judged = typeof criteria === "string" && criteria !== "" ? [`Judged by: ${criteria}`] : [];
  return [...blocks, ...judged].join("\n");
}

/** Levels that are indented: further in, indentation alone would be longer than what it shows. */
const indentedLevels = 12;

/** JSON on one line where it fits there, else on several. */
function jsonText(value: unknown, room: number): string {
  const line = plainJson(value, 0);
  if (line.length <= room || levelsOf(value) > indentedLevels) return line;
  return plainJson(value, 2);
}

function levelsOf(value: unknown, above = 0): number {
  if (typeof value !== "object" || value === null || above > indentedLevels) return above;
  let levels = above + 1;
  for (const one of Object.values(value)) levels = Math.max(levels, levelsOf(one, above + 1));
  return levels;
}

/** The calls that a request proposes. */
export function callsOf({ kind, proposed }: PendingRequest): readonly ProposedCall[] {
  const isOfCalls = kind === "tool_approval" || kind === "tool_calls";
  if (!isOfCalls || !Array.isArray(proposed)) return [];
  const calls = proposed as readonly ProposedCall[];
  // Results name their calls.
  return kind === "tool_approval"
    ? calls
    : calls.map((call) => ({ ...call, name: `${call.name} · ${plainLine(call.id)}` }));
}

/** The line of one argument list or value, to be edited. */
export function editable(value: unknown): string {
  const isLine = typeof value === "string" && plainLine(value) === value && !value.startsWith('"');
  return isLine ? value : printableJson(JSON.stringify(value));
}

/** A call whose result is waited for: its id, how long there is, and its arguments, a page at most. */
export function clientCallLines(
  { call_id: id, tool, input, expires_at: expires }: ClientCall,
  view: RequestView,
): string[] {
  const { style } = view;
  const until = `until ${expires.slice(0, 16).replace("T", " ")} UTC`;
  const title = `${style.bold(`? ${cutToWidth(plainLine(id), 60)}`)} ${style.dim(until)}`;
  const [page] = pagesOf(callPassages({ id, name: tool, args: input, reason: "" }, view));
  const rest =
    page === undefined || page.left === 0
      ? []
      : [`  ${style.yellow(`${moreCharacters(page.left)} not shown: --json prints them.`)}`];
  return [title, ...(page?.lines ?? []), ...rest];
}

/** The words of a command line that return results of calls. */
export function resultWords(calls: readonly Pick<ClientCall, "call_id">[]): string {
  const results = calls.map(({ call_id }) => ({ call_id, output: "…" }));
  return shellCommand(["--tool-results", JSON.stringify(results)]);
}

/** The words of a command line that answer requests; results are returned if no person is asked. */
export function answerWords(requests: readonly PendingRequest[]): string {
  const asked = requests.filter(({ kind }) => kind !== "tool_calls");
  if (asked.length === 0) return resultWords(clientCallsIn(requests));
  const words = asked.flatMap((request) => {
    const example = exampleAnswer(request);
    return ["--answer", asked.length > 1 ? `${request.id}=${example}` : example];
  });
  return shellCommand(words);
}

/** The words of a command line that give the payloads of events. */
export function eventWords(waits: readonly PendingRequest[]): string {
  const words = waits.flatMap((request) => {
    const { id, schema } = request;
    const example = formOf(schema) === "text" ? "payload" : answerTemplate(schema, new Map());
    return ["--answer", waits.length > 1 ? `${id}=${example}` : example];
  });
  return shellCommand(words);
}

/** An example of an answer, as a command line takes it: an approval of what is shown, and of nothing else. */
function exampleAnswer(request: PendingRequest): string {
  if (request.kind === "wait") return "payload";
  if (request.kind !== "input") {
    const { hash } = request;
    return hash === undefined ? "approve" : JSON.stringify({ decision: "approve", hash });
  }
  const schema = newValueSchema(request);
  if (schema === undefined || formOf(schema) === "text") return "your answer";
  const named = ["$defs", "definitions"].flatMap((key) => {
    const definitions = request.schema[key];
    const entries = isRecord(definitions) ? Object.entries(definitions) : [];
    return entries.map(([name, one]) => [`#/${key}/${name}`, one] as const);
  });
  return answerTemplate(schema, new Map(named));
}

const mostCharacters = 300;
const mostLevels = 4;
const mostFields = 12;

/**
 * The shape of an answer that a JSON Schema asks for, as JSON with the types in the places of values, such as
 * `{"pieces":"<integer>"}`. Objects have what they require, or where that is nothing all that they may have. A shape
 * of more than 300 characters loses its inner levels.
 *
 * @param schema of the answer
 * @param definitions by reference, such as `#/$defs/name`
 */
export function answerTemplate(schema: unknown, definitions: ReadonlyMap<string, unknown>): string {
  const texts = Array.from({ length: mostLevels }, (_, at) => {
    const shape = shapeOf(schema, definitions, mostLevels - at);
    return typeof shape === "string" ? shape : JSON.stringify(shape);
  });
  return texts.find((text) => text.length <= mostCharacters) ?? placeholder("JSON");
}

function shapeOf(
  schema: unknown,
  definitions: ReadonlyMap<string, unknown>,
  levels: number,
): unknown {
  const one = resolved(schema, definitions);
  if (!isRecord(one)) return placeholder("JSON");
  if (Array.isArray(one["enum"])) {
    return placeholder(one["enum"].slice(0, mostFields).map(valueText).join(" | "));
  }
  if (Object.hasOwn(one, "const"))
    return typeof one["const"] === "object" ? placeholder("JSON") : one["const"];
  const type = [one["type"]].flat().find((name) => name !== "null");
  if (type === "array") {
    return levels > 1 ? [shapeOf(one["items"], definitions, levels - 1)] : placeholder("array");
  }
  if (type !== "object" && !isRecord(one["properties"])) {
    return placeholder(typeof type === "string" ? type : "JSON");
  }
  return levels > 1 ? objectShape(one, definitions, levels) : placeholder("object");
}

function objectShape(
  { properties, required }: Readonly<Record<string, unknown>>,
  definitions: ReadonlyMap<string, unknown>,
  levels: number,
): unknown {
  if (!isRecord(properties)) return placeholder("object");
  const needed = Array.isArray(required) ? required : [];
  const names = Object.keys(properties);
  const shown = names.filter((name) => needed.includes(name));
  const fields = (shown.length > 0 ? shown : names).slice(0, mostFields);
  return Object.fromEntries(
    fields.map((name) => [name, shapeOf(properties[name], definitions, levels - 1)]),
  );
}

/** What references lead to, and the first of alternatives; undefined where that leads round in a circle. */
function resolved(schema: unknown, definitions: ReadonlyMap<string, unknown>): unknown {
  let one = schema;
  for (let jumps = 0; jumps < 8 && isRecord(one); jumps += 1) {
    const alternatives: unknown = one["anyOf"] ?? one["oneOf"] ?? one["allOf"];
    if (typeof one["$ref"] === "string") one = definitions.get(one["$ref"]);
    else if (Array.isArray(alternatives) && one["type"] === undefined) one = alternatives[0];
    else return one;
  }
  return undefined;
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function placeholder(text: string): string {
  return `<${plainLine(text)}>`;
}
