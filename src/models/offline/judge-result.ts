import { capitalsIn, codesIn, datesIn, namesIn, numbersIn, pathsIn, quotedIn } from "./facts.ts";
import type { Outcome } from "./outcome.ts";
import { isStopWord, overlap, stemsOf } from "./words.ts";
import { taskOf } from "./worker-message.ts";

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
