import { isStopWord, overlap, stemsOf } from "../words.ts";
import { capitalsIn, codesIn, datesIn, namesIn, numbersIn, pathsIn, quotedIn } from "./facts.ts";
import { taskOf } from "./history.ts";
import type { Outcome } from "./notation.ts";
import type { PlannerRequest } from "./planner-request.ts";
import { linksOf, type RequestPart, requestParts, subtaskIds } from "./subtasks.ts";

interface PlannedSubtask {
  readonly id: string;
  readonly description: string;
  readonly dependencies: readonly string[];
  readonly worker?: string;
}

/** A plan as the planner's schema has it. */
export interface PlannedTask {
  readonly subtasks: readonly PlannedSubtask[];
  readonly success_criteria: string;
}

interface Piece {
  readonly description: string;
  /** Pieces before it, by index. */
  readonly after: readonly number[];
}

/**
 * A plan by rules: a subtask for each part of the task, or for each gap. What does not fit into the number that is allowed
 * is left to the last one together. Ids never are those of earlier subtasks.
 */
export function planSubtasks(
  task: string,
  request: Extract<PlannerRequest, { kind: "plan" }>,
): PlannedTask {
  const { work, criteria } = partCriteria(task);
  const { gaps, done, taken, workers, most } = request;
  const pieces = gathered(gaps.length > 0 ? gaps.map(pieceAlone) : piecesOf(work), most);
  const ids = subtaskIds(
    pieces.map(({ description }) => description),
    [...done, ...taken],
  );
  const subtasks = pieces.map(({ description, after }, i) => {
    const worker = workerNamed(description, workers);
    const known = gaps.length > 0 ? namedIn(description, done) : [];
    return {
      id: ids[i] ?? "",
      description,
      dependencies: [...known, ...after.map((at) => ids[at] ?? "")],
      ...(worker !== null && { worker }),
    };
  });
  return { subtasks, success_criteria: request.criteria === "" ? criteria : request.criteria };
}

function pieceAlone(description: string): Piece {
  return { description, after: [] };
}

function piecesOf(task: string): readonly Piece[] {
  const parts: RequestPart[] = [];
  for (const part of requestParts(task)) {
    const before = part.isMaterial ? parts.pop() : undefined;
    const text = before === undefined ? part.text : `${before.text}\n\n${part.text}`;
    if (text !== "") parts.push({ ...(before ?? part), text });
  }
  const links = linksOf(parts);
  return parts.map(({ text }, i) => ({ description: text, after: links[i] ?? [] }));
}

/** Maximum number of parts: the last one takes the rest. */
function gathered(pieces: readonly Piece[], most: number): readonly Piece[] {
  if (pieces.length <= most) return pieces;
  const kept = pieces.slice(0, Math.max(0, most - 1));
  const rest = pieces.slice(kept.length);
  const after = rest.flatMap((piece) => piece.after).filter((at) => at < kept.length);
  const description = rest.map((piece) => piece.description.replace(/[.;]+$/, "")).join("; ");
  const sorted = [...new Set(after)].toSorted((a, b) => a - b);
  return most < 1 ? [] : [...kept, { description, after: sorted }];
}

/** The only one that a description names. */
function workerNamed(description: string, workers: readonly string[]): string | null {
  const named = workers.filter((worker) => isWordIn(worker, description));
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** Those that a text names, by themselves or by most of their words; of those that share words, the nearest. */
function namedIn(text: string, ids: readonly string[]): readonly string[] {
  const said = stemsOf(text);
  const shares = ids.map((id) => {
    const own = [...stemsOf(id)];
    const shared = own.filter((stem) => said.has(stem)).length;
    if (isWordIn(id, text)) return 1;
    return shared > 1 && shared * 3 >= own.length * 2 ? shared / own.length : 0;
  });
  const top = Math.max(...shares);
  return ids.filter((_, i) => top > 0 && shares[i] === top);
}

function isWordIn(word: string, text: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
}

const subject =
  /^(?:the|your|its|each|every) (?:\w+ ){0,2}?(?:report|result|answer|summary|output|reply|text|list|table|document|article|comparison|overview)s? (?:must|should|shall|has to|have to|needs? to|ought to|may not|cannot)\b/i;

/** What a task says at its end of the result itself: "The report must name both." */
function partCriteria(task: string): { readonly work: string; readonly criteria: string } {
  const text = task.trim();
  const line = text.lastIndexOf("\n") + 1;
  const sentences = [...text.slice(line).matchAll(/(?:^|(?<=[.!?;]\s+))(?=\p{Lu})/gu)];
  const begin = line + (sentences.at(-1)?.index ?? 0);
  const work = text.slice(0, begin).trim();
  if (work === "" || !subject.test(text.slice(begin))) return { work: text, criteria: "" };
  return { work, criteria: text.slice(begin) };
}

const demand =
  /\b(?:must|should|shall|has to|have to|needs? to)\s+(?:also\s+)?(name|mention|contain|include|say|state|give|list|quote)\s+([^]*?)(?=[.;!?](?:\s|$)|\bbut\b|\b(?:and|or)\s+(?:it\s+)?(?:must|should|be|not)\b|$)/gi;
const failedSubtask = / \(subtask "[\w.-]+" (?:failed|was not begun): [^]*\)$/;
const unmet = /no tool here fits "([^]*?)"\. Name a model in/g;

/** What was missing since a subtask had failed, and no later subtask that was done was for. */
export function stillMissing(
  before: readonly string[],
  outcomes: readonly Outcome[],
): readonly string[] {
  const done = outcomes.flatMap((one) => (one.failed ? [] : [taskOf(one) ?? ""]));
  return before.filter(
    (gap) => failedSubtask.test(gap) && !done.some((task) => task.includes(gap)),
  );
}

/**
 * What a result lacks: everything where it is empty, what it says itself that it found nothing for, and what the
 * criteria ask for word by word ("must name 42", "should mention eels", anything in quotes).
 */
export function gapsOf(result: string, criteria: string): readonly string[] {
  const text = result.replace(/^\[offline:rules\] /, "").trim();
  if (text === "" || text === "null" || text === "{}" || text === "[]")
    return ["There is no result."];
  const nothing = [...text.matchAll(unmet)].map(([, task = ""]) => `Nothing came of: ${task}`);
  const lacking = wantedBy(criteria).filter((wanted) => !says(text, wanted));
  return [
    ...new Set([...nothing, ...lacking.map((wanted) => `The result does not name ${wanted}.`)]),
  ];
}

function wantedBy(criteria: string): readonly string[] {
  const demanded = [...criteria.matchAll(demand)].flatMap(([, verb = "", what = ""]) => {
    const bare = /^(?:name|mention|contain|include)$/i.test(verb) ? bareWords(what) : [];
    const facts = [pathsIn, datesIn, codesIn, capitalsIn].flatMap((factsIn) =>
      factsIn(withoutQuotes(what)),
    );
    // Names begin in the midst of a sentence.
    const names = namesIn(`x ${withoutQuotes(what)}`);
    return [...facts, ...names, ...numbersWanted(what), ...bare];
  });
  const quoted = quotedIn(criteria);
  const all = [...new Set([...quoted, ...demanded])];
  return all.filter((one) => !all.some((other) => other !== one && wordsInclude(other, one)));
}

function wordsInclude(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase()) && text.length > part.length;
}

/** Not of "at most 200 words" or "3 sources". */
function numbersWanted(what: string): readonly string[] {
  const plain = withoutQuotes(what).replace(/(\d),(?=\d{3}\b)/g, "$1");
  const alone =
    plain.match(/(?<![\w./:#-])-?\d+(?:\.\d+)?(?=\s*(?:$|,|and\b|or\b|as\b|in\b))/g) ?? [];
  return /\b(?:at least|at most|up to|more than|less than|fewer than|exactly)\b/i.test(what)
    ? []
    : alone;
}

/** "eels", "eels and mills"; nothing with an article or a number, which describe what is wanted. */
function bareWords(what: string): readonly string[] {
  const words = what.trim().split(/\s*,\s*(?:and\s+)?|\s+and\s+/);
  return words.filter((word) => /^\p{L}[\p{L}\p{M}'-]*$/u.test(word) && !isVague(word));
}

function isVague(word: string): boolean {
  return isStopWord(word) || /^(?:both|everything|something|nothing|one|two|three)$/i.test(word);
}

function withoutQuotes(text: string): string {
  return quotedIn(text).reduce((left, quote) => left.replace(quote, " "), text);
}

function says(text: string, wanted: string): boolean {
  if (/^-?\d+(?:\.\d+)?$/.test(wanted)) {
    return numbersIn(text).includes(Number(wanted)) || text.includes(wanted);
  }
  if (text.toLowerCase().includes(wanted.toLowerCase())) return true;
  return /^\p{L}+$/u.test(wanted) && overlap(stemsOf(wanted), text) > 0;
}
