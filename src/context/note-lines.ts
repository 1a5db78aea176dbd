import type { AgentSpec } from "../definition/schema/agent.ts";
import type { AgentModel } from "../models/agent-model.ts";
import { LenientJson, scanJson } from "../models/replies/json-answer.ts";
import { isRecord } from "../values/json.ts";
import { noteTool, readStepNote, type StepNote, type StepWithResults } from "./step-note.ts";

/** How a model that calls tools in text notes its step: the fields of {@link noteTool} on a line of its own. */
export const noteLineForm =
  "Once there are observations, you may add one line before the Action or the Final Answer, with any of these fields, as one JSON object. It is not part of the answer:\n\n" +
  'Note: {"results": [{"call": "name of the tool", "insights": "what matters in its result", "learning": "what to do differently", "relevance": "high, medium or low"}], "synthesis": "how this step advances the goal", "progress": "advancing, stuck or regressing", "hypothesis": {"belief": "what you assume", "test": "how to check it"}}';

/** The same for a model that makes one tool call at a time, so that a call of {@link noteTool} would cost a step. */
export const nativeNoteLineForm =
  "The text next to a tool call may contain one line on the last result, with any of these fields:\n" +
  'Note: {"insights": "what matters in it", "learning": "what to do differently", "relevance": "high, medium or low", "synthesis": "how this step advances the goal", "progress": "advancing, stuck or regressing", "hypothesis": {"belief": "what you assume", "test": "how to check it"}}';

/**
 * Returns whether a model of an agent with tools is offered the line: models without native tool calls, and those that
 * make one call at a time. In deep mode, reflections replace notes. The rules of `offline:rules` write none.
 */
export function takesNoteLines(
  { execution_config }: Pick<AgentSpec, "execution_config">,
  model: Pick<AgentModel, "ref" | "toolCalling" | "parallelCalls">,
): boolean {
  if (execution_config.mode === "deep" || model.ref.startsWith("offline:")) return false;
  return !model.toolCalling || !model.parallelCalls;
}

/** The label at the start of a line, and what may stand before its object. */
const noteLabel = /[ \t>#*_•+-]{0,8}note[*_]{0,4}[ \t]{0,4}[:：][*_`\t ]{0,8}(?=\{)/iuy;
/** A text that may still become a label. */
const labelStart =
  /[ \t>#*_•+-]{0,8}(?:n(?:o(?:t(?:e[*_]{0,4}[ \t]{0,4}(?:[:：][*_`\t ]{0,8})?)?)?)?)?$/iuy;
const inventedObservation = /^[ \t>#*_•+-]{0,8}observations?[ \t]{0,4}\d{0,4}[*_]{0,4}[:：]/imu;
const restOfLine = /[*_`\t ]{0,8}(\r?\n|\r?$)/y;
const lineEnd = /[\n\r\u2028\u2029]/g;
const firstField = /^\{\s*"([^"\\]*)"/;

/** Characters of a note, and labels that are looked at. */
const longestNote = 8_000;
const mostLabels = 16;

const resultFields = ["call", "insights", "learning", "relevance"];
const noteFields: ReadonlySet<string> = new Set([
  ...Object.keys(noteTool.input_schema["properties"] as object),
  ...resultFields,
]);

type Note = Readonly<Record<string, unknown>>;

/** What begins at the start of a line: a note, text, or too little to tell. */
type LineStart =
  | { readonly kind: "note"; readonly note: Note; readonly end: number }
  | { readonly kind: "text"; readonly end: number }
  | { readonly kind: "open" };

/**
 * Takes note lines out of a reply that comes in parts. A line whose object has other fields, or none, is text like any
 * other, and stays. Text is held back only while its line may still become a note. How the reply is divided into parts
 * makes no difference.
 *
 * @example
 * const lines = new NoteLines();
 * lines.push("Look.\nNo") + lines.push('te: {"progress": "stuck"}\nNow.') + lines.end(); // "Look.\nNow."
 */
export class NoteLines {
  readonly #json = new LenientJson();
  readonly #notes: { readonly index: number; readonly note: Note }[] = [];
  #held = "";
  #isLineStart = true;
  #labels = 0;
  /** Index of the held text in the reply. */
  #index = 0;

  /** The notes so far, in order, each with the index of its line in the reply. */
  get notes(): readonly { readonly index: number; readonly note: Note }[] {
    return this.#notes;
  }

  /** Takes the next part, and returns the text that can be shown now. */
  push(part: string): string {
    this.#held += part;
    return this.#release(false);
  }

  /** Ends the reply, and returns the text that was held back and is no note. */
  end(): string {
    return this.#release(true);
  }

  #release(isEnd: boolean): string {
    const held = this.#held;
    const shown: string[] = [];
    let at = 0;
    while (at < held.length) {
      const next = this.#isLineStart ? this.#readLineStart(at, isEnd) : textTo(held, at);
      if (next.kind === "open") break;
      if (next.kind === "note") this.#notes.push({ index: this.#index + at, note: next.note });
      else shown.push(held.slice(at, next.end));
      at = next.end;
      this.#isLineStart = matchEnd(lineEnd, held, at - 1) === at;
    }
    this.#held = held.slice(at);
    this.#index += at;
    return shown.join("");
  }

  #readLineStart(at: number, isEnd: boolean): LineStart {
    const held = this.#held;
    if (this.#labels === mostLabels) return textTo(held, at);
    const start = matchEnd(noteLabel, held, at);
    if (start === null) {
      const isOpen = !isEnd && matchEnd(labelStart, held, at) !== null;
      return isOpen ? { kind: "open" } : textTo(held, at);
    }
    const read = this.#readNote(start, isEnd);
    if (read === "open") return { kind: "open" };
    this.#labels += 1;
    return read ?? { kind: "text", end: start };
  }

  /** Reads the object at `start`, after its label. Returns null if it is no note. */
  #readNote(start: number, isEnd: boolean): (LineStart & { kind: "note" }) | "open" | null {
    const held = this.#held;
    const object = held.slice(start, start + longestNote);
    const field = firstField.exec(object)?.[1];
    if (field !== undefined && !noteFields.has(field)) return null;
    const { end, closed } = scanJson(object, 0);
    if (!closed) return isEnd || object.length === longestNote ? null : "open";
    restOfLine.lastIndex = start + end;
    const rest = restOfLine.exec(held);
    if (rest === null || (isEnd && rest[1] === "\r")) return null;
    if (!isEnd && rest[1]?.endsWith("\n") !== true) return "open";
    const read = this.#json.read(held.slice(start, start + end));
    if (!read.ok || !isNote(read.value)) return null;
    return { kind: "note", note: read.value, end: restOfLine.lastIndex };
  }
}

function textTo(text: string, at: number): { readonly kind: "text"; readonly end: number } {
  return { kind: "text", end: matchEnd(lineEnd, text, at) ?? text.length };
}

/** Returns the index after a match at `at` or, if the expression is not sticky, later; null if there is none. */
function matchEnd(expression: RegExp, text: string, at: number): number | null {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : null;
}

function isNote(value: object): value is Note {
  const names = Object.keys(value);
  return isRecord(value) && names.length > 0 && names.every((name) => noteFields.has(name));
}

/**
 * Takes the lines in the form of {@link noteLineForm} out of a whole reply: see {@link NoteLines}.
 *
 * @returns the reply without them, and their objects; none that come after an observation, which the model invented
 */
export function takeNoteLines(reply: string): {
  readonly text: string;
  readonly notes: readonly Note[];
} {
  if (!/note/i.test(reply)) return { text: reply, notes: [] };
  const lines = new NoteLines();
  const text = lines.push(reply) + lines.end();
  if (lines.notes.length === 0) return { text: reply, notes: [] };
  const observed = reply.search(inventedObservation);
  const notes = lines.notes.filter(({ index }) => observed < 0 || index < observed);
  return { text, notes: notes.map(({ note }) => note) };
}

/** {@link readStepNote} of note lines. What is said of a result may stand in the note itself, and of a single one without its call. */
export function readNoteLines(
  notes: readonly Note[],
  behind: readonly StepWithResults[],
): StepNote {
  const last = behind.findLast((step) => step.tool_results.length > 0)?.tool_results ?? [];
  const only = last.length === 1 ? last[0]?.id : undefined;
  const named = (one: unknown) => (isRecord(one) ? { call: only, ...one } : one);
  const said = notes.map((note) => ({
    ...note,
    results: Array.isArray(note["results"]) ? note["results"].map(named) : [named(note)],
  }));
  return readStepNote(said, behind);
}
