import { headOf } from "../../state/cut-text.ts";
import type { PendingRequest, ProposedCall } from "../../state/human-request.ts";
import { isRecord } from "../../state/is-record.ts";
import { newValueSchema } from "../ask/read-answer.ts";
import { answerTemplate } from "./answer-template.ts";
import { plainLine, plainText } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { cutToWidth, wrapText } from "./text-width.ts";
import { callText } from "./tool-line.ts";

const proposedLines = 12;
const promptLines = 8;
const readCharacters = 8000;

/** What a person is asked: who asks, how long there is, the question, and what is proposed. Long values are cut. */
export function requestLines(request: PendingRequest, width: number, style: Style): string[] {
  const { kind, expires_at: expires, prompt, problem } = request;
  const until = expires === null ? "" : ` · until ${expires.slice(0, 16).replace("T", " ")} UTC`;
  const asker = cutToWidth(plainLine([...request.within, request.node].join(" › ")), 60);
  const room = Math.max(20, Math.min(width, 160) - 4);
  return [
    `${style.bold(`? ${asker}`)} ${style.dim(`${asks[kind]}${until}`)}`,
    ...indented(shortened(prompt, room, promptLines)),
    ...indented(hint(request).map((line) => style.dim(cutToWidth(line, room)))),
    ...proposal(request, room - 2, style).map((line) => `  ${style.dim("│")} ${line}`),
    ...(problem === undefined
      ? []
      : indented(wrapText(plainText(`! ${problem}`), room).map(style.yellow))),
  ];
}

const asks: Readonly<Record<PendingRequest["kind"], string>> = {
  approval: "asks for approval",
  edit: "asks for approval or changes",
  input: "asks for input",
  tool_approval: "asks for approval of tool calls",
};

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

function proposal(request: PendingRequest, room: number, style: Style): string[] {
  const { proposed } = request;
  if (request.kind === "tool_approval") {
    return callsOf(request).flatMap(({ reason, ...call }) => [
      cutToWidth(callText(call), room),
      ...(reason === "" ? [] : [style.dim(cutToWidth(`  ${plainLine(reason)}`, room))]),
    ]);
  }
  if (proposed === null || proposed === "") return [];
  if (typeof proposed === "string") return shortened(proposed, room, proposedLines);
  const line = JSON.stringify(proposed);
  const text = line.length <= room ? line : JSON.stringify(proposed, null, 2);
  return shortened(text, room, proposedLines);
}

/** The calls that a request proposes. */
export function callsOf({ proposed }: PendingRequest): readonly ProposedCall[] {
  return Array.isArray(proposed) ? (proposed as readonly ProposedCall[]) : [];
}

/** The line of one argument list or value, to be edited. */
export function editable(value: unknown): string {
  const isLine = typeof value === "string" && plainLine(value) === value && !value.startsWith('"');
  return isLine ? value : JSON.stringify(value);
}

/** An example of an answer, as a command line takes it. */
export function exampleAnswer(request: PendingRequest): string {
  if (request.kind !== "input") return "approve";
  const schema = newValueSchema(request);
  if (schema === undefined || formOf(schema) === "text") return "your answer";
  const named = ["$defs", "definitions"].flatMap((key) => {
    const definitions = request.schema[key];
    const entries = isRecord(definitions) ? Object.entries(definitions) : [];
    return entries.map(([name, one]) => [`#/${key}/${name}`, one] as const);
  });
  return answerTemplate(schema, new Map(named));
}

function shortened(text: string, room: number, most: number): string[] {
  const lines = wrapText(plainText(headOf(text, readCharacters)), room);
  if (lines.length <= most && text.length <= readCharacters) return lines;
  const left = text.length - lines.slice(0, most - 1).join("\n").length;
  return [...lines.slice(0, most - 1), `… ${left.toLocaleString("en")} more characters`];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === "" ? line : `  ${line}`));
}
