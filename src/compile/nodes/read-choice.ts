import type { AIMessage } from "@langchain/core/messages";
import type { StructuredAnswer } from "../../models/agent-model.ts";
import { readStructured } from "../../models/structured-answer.ts";
import { parseTextForm } from "../../models/text-form.ts";
import { isRecord } from "../../state/is-record.ts";

/** What a model chose, or why that is no choice. */
export type ReadChoice =
  | { readonly ok: true; readonly choice: string; readonly reason: string }
  | {
      readonly ok: false;
      /** What it said instead, as text. */
      readonly said: string;
      /** Told back to it. */
      readonly problem: string;
    };

/**
 * The choice in a model's reply. A missing reason, other letter case, quotes and a full stop around a name are put up with as
 * long as one choice is meant; a name within a sentence is none. Never throws.
 */
export function readChoice(
  message: AIMessage,
  answer: StructuredAnswer,
  names: readonly string[],
): ReadChoice {
  const read = readStructured(message, answer);
  const value = read.value ?? bareText(message.text);
  const choice = named(isRecord(value) ? value["choice"] : value, names);
  if (choice !== null) {
    const reason = isRecord(value) ? value["reason"] : undefined;
    return { ok: true, choice, reason: typeof reason === "string" ? reason : "" };
  }
  const problem = read.ok ? "choice: no such choice" : read.problem;
  return { ok: false, said: saidIn(message), problem };
}

function named(said: unknown, names: readonly string[]): string | null {
  if (typeof said !== "string") return null;
  if (names.includes(said)) return said;
  const bare = bareName(said);
  if (bare === "") return null;
  const alike = [...new Set(names)].filter((name) => bareName(name) === bare);
  return alike.length === 1 ? (alike[0] ?? null) : null;
}

function bareName(text: string): string {
  return text.replace(/^[\s"'`*_]+|[\s"'`*_.]+$/g, "").toLowerCase();
}

/** The answer of a reply without JSON; models that use the text form put it behind a label. */
function bareText(text: string): string {
  return parseTextForm(text).finalAnswer ?? text;
}

function saidIn({ text, tool_calls: calls = [], invalid_tool_calls: broken = [] }: AIMessage) {
  const [call] = calls;
  return call === undefined ? (broken[0]?.args ?? text) : JSON.stringify(call.args);
}
