import { jsonHead } from "../../values/bounded-json.ts";
import { describeValue, plain, plainJson } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import type { CliIo } from "../io.ts";
import {
  createStyle,
  cutToWidth,
  plainLine,
  plainText,
  type Style,
  textWidth,
  wantsColour,
  wrapText,
} from "./terminal.ts";

export interface ValueOptions {
  readonly width: number;
  readonly style: Style;
  /** Whether values are printed whole. */
  readonly full: boolean;
}

/** Where no terminal limits the line. */
const unboundedWidth = 160;
const maxLabel = 24;
const readCharacters = 2000;

/** Values under their names, each on one line unless they are printed whole; `none` where there are no values. */
export function namedValueLines(
  values: readonly (readonly [name: string, value: unknown])[],
  options: ValueOptions,
): string[] {
  const { style, full } = options;
  const labels = values.map(([name]) => plainLine(headOf(name, 200)));
  const room = Math.min(maxLabel, Math.max(0, ...labels.map(textWidth)));
  return values.flatMap(([, value], index) => {
    const label = cutToWidth(labels[index] ?? "", room);
    const space = " ".repeat(room - textWidth(label));
    const left = roomFor(options) - room - 4;
    const lines = full ? wholeLines(value, left) : [shortLine(value, left)];
    return lines.map((line, number) =>
      number === 0 ? `  ${style.dim(label)}${space}  ${line}` : `${" ".repeat(room + 4)}${line}`,
    );
  });
}

/** Elements of a list, one below the other: each on one line unless they are printed whole. */
export function elementLines(elements: readonly unknown[], options: ValueOptions): string[] {
  const room = roomFor(options) - 4;
  return elements.flatMap((element) => {
    const lines = options.full ? wholeLines(element, room) : [shortElement(element, room)];
    return lines.map((line, number) => (number === 0 ? `  - ${line}` : `    ${line}`));
  });
}

function roomFor({ width }: ValueOptions): number {
  return Math.max(24, Math.min(width, unboundedWidth));
}

function shortElement(element: unknown, room: number): string {
  const message = plain(element);
  // Who says it, and what, without the quotes of a value inside of others.
  if (isRecord(message) && typeof message["type"] === "string") {
    const { type, content, tool_calls: calls } = message;
    const asks = Array.isArray(calls) && calls.length > 0;
    if (typeof content === "string" && content !== "" && !asks) {
      return cutToWidth(plainLine(`${type}: ${headOf(content, readCharacters)}`), room);
    }
  }
  return cutToWidth(plainLine(describeValue(element)), room);
}

function shortLine(value: unknown, room: number): string {
  if (typeof value === "string") return cutToWidth(plainLine(headOf(value, readCharacters)), room);
  return cutToWidth(plainLine(jsonHead(plain(value), readCharacters).text), room);
}

function wholeLines(value: unknown, room: number): string[] {
  const text = typeof value === "string" ? value : plainJson(value);
  return wrapText(plainText(text), room);
}

/** How what goes to standard output is laid out: lines of unbounded width where it is no terminal. */
export function outputLayout({ stdout, env }: Pick<CliIo, "stdout" | "env">): {
  readonly width: number;
  readonly style: Style;
} {
  return {
    width: stdout.isTerminal ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    style: createStyle(wantsColour(stdout.isTerminal, env)),
  };
}

/** Characters that act on a terminal, or cannot be seen there, but for the line feeds between values. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** A value as indented JSON, safe to print: it has no character that acts on a terminal. */
export function jsonText(value: unknown): string {
  return printableJson(JSON.stringify(value, null, 2));
}

/** JSON with every character as an escape that acts on a terminal or cannot be seen there. The same value. */
export function printableJson(json: string): string {
  return json.replaceAll(unprintable, escaped);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
