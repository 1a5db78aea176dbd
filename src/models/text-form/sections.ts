import { type LenientJson, scanJson } from "../replies/json-answer.ts";

/** A labelled part of a turn; `thought` is also what stands before the first label. */
export interface Section {
  readonly kind: LabelKind;
  /** Trimmed; code fences around it are still there. */
  readonly text: string;
  /** An action's input that is JSON, read already. */
  readonly value?: object;
}

/**
 * Splits a turn at its labels. What comes after an observation that follows an action, or after a final answer, was
 * invented and is left out. Labels inside JSON and inside the code blocks of an input or an answer are text.
 *
 * @param text with `\n` as its line ends
 */
export function splitSections(text: string, json: LenientJson): Section[] {
  return new Splitter(text, json).split();
}

interface OpenSection {
  readonly kind: LabelKind;
  readonly lines: string[];
  hasText: boolean;
  value?: object;
}

const fence = /^\s{0,8}(?:`{3,}|~{3,})\s{0,4}([\w+-]{0,20})\s{0,8}$/;

/** What may stand between a label and the JSON after it. */
const beforeJson = /(?:[\s*_]|`{1,2}(?!`)|(?:`{3,}|~{3,})(?:[\w+-]{0,20}(?=\s)|(?=[{[])))*/y;

const afterJson = /^[\s*_`~]*$/;

/** More JSON right after an object or array: that alone is not the input. */
const nextJson = /[\s,;]{0,40}[{}[\]"]/y;

class Splitter {
  readonly #text: string;
  readonly #json: LenientJson;
  readonly #lastFence: number;
  readonly #sections: Section[] = [];
  #current: OpenSection = { kind: "thought", lines: [], hasText: false };
  /** Start of the line that is read next. */
  #at = 0;
  #hasAction = false;
  /** Inside a code block that goes around labels. */
  #isWrapped = false;
  /** Inside a code block that belongs to the current section. */
  #isInBlock = false;
  /** A code block that opened before an input's JSON has yet to close. */
  #closesInput = false;
  /** What stands here until the next label belongs to nothing. */
  #isIgnoring = false;
  /** One scan that runs to the text's end without closing is all that is paid for. */
  #scans = true;

  constructor(text: string, json: LenientJson) {
    this.#text = text;
    this.#json = json;
    this.#lastFence = Math.max(text.lastIndexOf("\n```"), text.lastIndexOf("\n~~~"));
  }

  split(): Section[] {
    while (this.#at < this.#text.length) {
      const start = this.#at;
      const line = this.#lineAt(start);
      this.#at = start + line.length + 1;
      if (this.#takeFence(line, start)) continue;
      const label = this.#isInBlock ? null : this.#labelOf(line);
      if (label === null) this.#add(line);
      else if (this.#isInvented(label)) break;
      else this.#begin(label, start + label.length);
    }
    this.#close();
    return this.#sections;
  }

  #lineAt(start: number): string {
    const newline = this.#text.indexOf("\n", start);
    return this.#text.slice(start, newline < 0 ? this.#text.length : newline);
  }

  #takeFence(line: string, start: number): boolean {
    const match = fence.exec(line);
    if (match === null) return false;
    const { kind, hasText } = this.#current;
    const closes = match[1] === "";
    const takesBlock = (kind === "input" || kind === "action") && !hasText;
    if (this.#isInBlock) {
      this.#isInBlock = !closes;
      this.#add(line);
    } else if (closes && this.#closesInput) {
      this.#closesInput = false;
    } else if (closes && this.#isWrapped && !takesBlock) {
      this.#isWrapped = false;
      this.#isIgnoring = kind === "input" || kind === "final";
    } else if (takesBlock || kind === "final") {
      this.#isInBlock = this.#lastFence > start;
      const isCut = !this.#isWrapped && this.#text.slice(this.#at).trim() === "";
      if (this.#isInBlock || isCut) this.#add(line);
    } else if (kind === "thought" || kind === "observation") {
      this.#isWrapped = true;
    }
    return true;
  }

  #labelOf(line: string): Label | null {
    const { kind, hasText } = this.#current;
    const label = matchLabel(line) ?? (kind === "action" ? matchInputAlias(line) : null);
    if (label === null) return null;
    if (kind === "final") return this.#endsAnswer(label) ? label : null;
    if (label.hasColon) return label;
    if (!label.isTitle) return null;
    switch (label.kind) {
      case "thought":
        return this.#sections.length === 0 && kind === "thought" && !hasText ? label : null;
      case "action":
        return isCall(label.rest) || (isWord(label.rest) && this.#nextIsInput()) ? label : null;
      case "input":
        return kind === "action" ? label : null;
      case "observation":
        return kind === "input" && hasText ? label : null;
      case "final":
        return label;
    }
  }

  #endsAnswer(label: Label): boolean {
    if (!label.hasColon) return false;
    if (label.kind === "action") return this.#nextIsInput();
    return label.kind === "observation" || label.kind === "thought";
  }

  #isInvented(label: Label): boolean {
    return this.#current.kind === "final" || (label.kind === "observation" && this.#hasAction);
  }

  #nextIsInput(): boolean {
    let at = this.#at;
    while (at < this.#text.length) {
      const line = this.#lineAt(at);
      if (line.trim() !== "") return (matchLabel(line) ?? matchInputAlias(line))?.kind === "input";
      at += line.length + 1;
    }
    return false;
  }

  #begin(label: Label, contentStart: number): void {
    this.#close();
    this.#current = { kind: label.kind, lines: [], hasText: false };
    this.#isIgnoring = false;
    this.#closesInput = false;
    this.#hasAction ||= label.kind === "action";
    const isJson = label.kind === "input" && this.#takeJson(contentStart);
    if (isJson || label.rest === "") return;
    if (!this.#takeFence(label.rest, contentStart)) this.#add(label.rest);
  }

  /** Reads an input that is JSON as one piece, over as many lines as it has, so that labels in it are text. */
  #takeJson(contentStart: number): boolean {
    if (!this.#scans) return false;
    beforeJson.lastIndex = contentStart;
    const before = beforeJson.exec(this.#text)?.[0] ?? "";
    const start = contentStart + before.length;
    const opening = this.#text[start];
    if (opening !== "{" && opening !== "[") return false;
    const { end, closed } = scanJson(this.#text, start);
    this.#scans = closed;
    if (!closed) return false;
    const read = this.#json.read(this.#text.slice(start, end));
    const after = this.#lineAt(end);
    nextJson.lastIndex = end;
    if (nextJson.test(this.#text)) return false;
    const isAlone = afterJson.test(after);
    const isJson =
      read.ok && (opening === "{" ? isAlone || !read.isMended : isAlone && !read.isMended);
    if (!isJson) return false;
    this.#current.value = read.value;
    this.#current.hasText = true;
    this.#isIgnoring = true;
    this.#closesInput = /`{3}|~{3}/.test(before) && !/`{3}|~{3}/.test(after);
    this.#at = end + after.length + 1;
    return true;
  }

  #add(line: string): void {
    if (this.#isIgnoring) return;
    this.#current.lines.push(line);
    this.#current.hasText ||= line.trim() !== "";
  }

  #close(): void {
    const { kind, lines, value } = this.#current;
    const text = lines.join("\n").trim();
    if (kind === "thought" && text === "") return;
    this.#sections.push(value === undefined ? { kind, text } : { kind, text, value });
  }
}

function isCall(text: string): boolean {
  return /^[\w.:/-]{1,128} ?[[(]/.test(text) && /[\])]\.?$/.test(text);
}

function isWord(text: string): boolean {
  return /^[\w.:/-]{1,128}$/.test(text);
}

type LabelKind = "thought" | "action" | "input" | "observation" | "final";

/** A line that begins a part of a turn in the text form. */
interface Label {
  readonly kind: LabelKind;
  readonly hasColon: boolean;
  /** Written with capitals, as a heading is and a word within a sentence is not. */
  readonly isTitle: boolean;
  /** What stands after it on its line, trimmed. */
  readonly rest: string;
  /** Characters of the line that the label takes. */
  readonly length: number;
}

const kinds: readonly (readonly [LabelKind, RegExp])[] = [
  ["thought", /^thoughts?$/],
  ["input", /^(action|tool)[\s_-]{0,2}(inputs?|args|arguments)$/],
  ["action", /^(action|tool)$/],
  ["observation", /^observations?$/],
  ["final", /^final[\s_-]{0,2}answer$/],
];

/** List marks, quotes, headings, numbers; then emphasis; then the words, a number, and a colon with emphasis around. */
const pattern =
  /^[\s>#•+-]{0,16}(?:\d{1,3}[.)]\s{0,4})?([*_`]{0,4})(thoughts?|(?:action|tool)(?:[\s_-]{0,2}(?:inputs?|args|arguments))?|observations?|final[\s_-]{0,2}answer)(?![\p{L}\p{N}])\s{0,4}(?:#?\d{1,4}(?![\p{L}\p{N}.,]))?\s{0,4}([*_`]{0,4})\s{0,4}([:：]?)/iu;

/** Reads the label at the start of a line; null where there is none. Looks at the line's first characters only. */
function matchLabel(line: string): Label | null {
  const match = pattern.exec(line);
  if (match === null) return null;
  const [all, opened = "", words = "", closed = "", colon = ""] = match;
  const kind = kinds.find(([, form]) => form.test(words.toLowerCase()))?.[0];
  if (kind === undefined) return null;
  const rest = line.slice(all.length);
  return {
    kind,
    hasColon: colon !== "",
    isTitle: words.split(/[\s_-]+/).every((word) => /^[A-Z]/.test(word)),
    rest: (closed === "" ? withoutEmphasis(rest, opened) : rest).trim(),
    length: all.length,
  };
}

const inputAlias =
  /^[\s>#•*_`-]{0,16}(?:inputs?|args|arguments|parameters)\s{0,4}[*_`]{0,4}[:：]\s{0,4}[*_`]{0,4}/i;

/** `Input:` and its like, which are labels only right after an action. */
function matchInputAlias(line: string): Label | null {
  const length = inputAlias.exec(line)?.[0].length;
  if (length === undefined) return null;
  return { kind: "input", hasColon: true, isTitle: true, rest: line.slice(length).trim(), length };
}

/** Emphasis that opened before a label ends after the colon or, where the whole line has it, with the line. */
function withoutEmphasis(rest: string, mark: string): string {
  if (mark === "") return rest;
  if (rest.startsWith(mark)) return rest.slice(mark.length);
  const line = rest.trimEnd();
  return line.endsWith(mark) ? line.slice(0, -mark.length) : rest;
}
