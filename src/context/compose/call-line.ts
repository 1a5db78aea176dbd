import { callSignature, inOneLine } from "../../state/call-signature.ts";
import { cutText } from "../../state/cut-text.ts";
import type { StepRecord, ToolResult } from "../../state/step-record.ts";
import { cleanText } from "../clean-text.ts";
import { salientValues, salientWords } from "../preview/salient-values.ts";
import { errorCharacters } from "../result-text.ts";
import { pairedCalls } from "../step-messages.ts";

/** Values of one result that its line names. */
const valuesNamed = 40;

/** Characters of an insight or of a short result that a line keeps. */
const shownCharacters = 200;

/** A call as one line, in parts: a value that stands in an earlier line need not be said again. */
export interface CallLine {
  /** `- search(query="python tutorial") → success` */
  readonly text: string;
  readonly values: readonly string[];
  /** Values that stand in the text. */
  readonly words: ReadonlySet<string>;
  /** Whether it says no more than that the call succeeded. */
  readonly isPlain: boolean;
}

const known = new WeakMap<StepRecord, readonly CallLine[]>();

/**
 * The calls of a step in the form of `compressActions`, with the values of their results that another call may need:
 * ids, dates, URLs, keys. Failures keep their message.
 */
export function callLines(step: StepRecord): readonly CallLine[] {
  const lines = known.get(step);
  if (lines !== undefined) return lines;
  const calls = pairedCalls(step);
  const made = calls.length > 0 ? calls.map(callLine) : problemLines(step);
  known.set(step, made);
  return made;
}

/** What was wrong with a reply without calls. */
function problemLines({ problem }: StepRecord): readonly CallLine[] {
  if (problem === "") return [];
  const text = `- no call: ${cutText(inOneLine(cleanText(problem)), shownCharacters)}`;
  return [{ text, values: [], words: new Set(), isPlain: true }];
}

function callLine(result: ToolResult): CallLine {
  const call = `- ${cleanText(callSignature(result))} → ${result.outcome}`;
  if (result.outcome !== "success") {
    const message = inOneLine(cutText(cleanText(result.error ?? ""), errorCharacters));
    const learned = inOneLine(cleanText(cutText(result.learning, shownCharacters)));
    const said = message === "" ? call : `${call}: ${message}`;
    const text = learned === "" ? said : `${said} [${learned}]`;
    return { text, values: [], words: salientWords(text), isPlain: false };
  }
  const insight = inOneLine(cleanText(result.insights));
  // What was noted to be of little use is told as long as there is room for everything.
  const isUseless = result.relevance === "low";
  const said = insight === "" ? shortResult(result.result) : cutText(insight, shownCharacters);
  const text = said === "" || isUseless ? call : `${call}: ${said}`;
  const values = isUseless ? [] : salientValues(result.result, valuesNamed).map(cleanText);
  return {
    text,
    values: values.filter((value) => !text.includes(value)),
    words: salientWords(text),
    isPlain: said === "" || isUseless,
  };
}

/** Results that are as short as what could be said of them. */
function shortResult(result: unknown): string {
  if (typeof result === "number" || typeof result === "boolean") return String(result);
  if (typeof result !== "string" || result.length > 80) return "";
  return inOneLine(cleanText(result));
}

/** Whether a call failed, or gave something that another call may need. */
export function saysSomething(line: CallLine, isNew: (value: string) => boolean): boolean {
  return !line.isPlain || line.values.some(isNew);
}

/** A line with those of its values that are new. */
export function lineText(
  line: CallLine,
  isNew: (value: string) => boolean,
  most = valuesNamed,
): string {
  const values = line.values.filter(isNew);
  if (values.length === 0) return line.text;
  const more = values.length > most ? `, … ${values.length - most} more` : "";
  return `${line.text}; ${values.slice(0, most).join(", ")}${more}`;
}

/** Lines that are the same become one, where the first of them stood, with their count. */
export function foldLines(lines: readonly string[]): readonly string[] {
  if (lines.length < 2) return lines;
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line} (×${count})`));
}
