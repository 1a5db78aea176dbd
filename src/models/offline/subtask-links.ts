import {
  capitalsIn,
  codesIn,
  emailsIn,
  namesIn,
  numbersIn,
  pathsIn,
  quotedIn,
  urlsIn,
} from "./facts.ts";
import type { RequestPart } from "./subtasks.ts";

/** "step 2", "parts 1 and 3", "the results of 1 and 2"; bare numbers in a numbered request alone. */
const named =
  /\b(?:steps?|parts?|tasks?|subtasks?|points?|results? (?:of|from)) (?:#|no\. ?)?(\d+(?:(?:, ?(?:and )?| and | & )\d+)*)(?![\d.]*\s*[*/+%×-])/gi;
const bare =
  /\b(?:from|of|with|using|in|after) \(?(\d+(?:(?:, ?(?:and )?| and | & )\d+)+)\)?(?=$|[.,;:!?)]| (?:and|into|in|to|with|then|as)\b)/gi;

const several =
  /\b(?:them|they|their|these|those)\b|\b(?:the|all|your) (?:\w+ )?(?:results|outputs|answers|findings|counts|totals|sums|figures|outcomes)\b(?! (?:of|in|from|for) (?!both|all|these|those|them|steps?|parts?))/i;
/** Of something before, where nothing else is named that they could be of. */
const gathering =
  /\b(?:both|each|every|all of|everything|which (?:one|is|of))\b|^(?:compare|contrast|combine|merge|join|collate|report|summari[sz]e|synthesi[sz]e|conclude)\b|^(?:write|give|make|prepare|produce|draft|compose|create|save|send|email)\s(?:\w+\s){0,4}?(?:report|summary|comparison|overview|conclusion)\b/i;

const end = String.raw`(?=\s*(?:$|[.,;:!?)])|\s+(?:by|to|with|from|into|and|as|aloud|for|on|at)\b)`;
const one = new RegExp(
  [
    String.raw`(?<!\b(?:time|date|day) is )(?<!\bdoes )\b(?:it|its)\b`,
    String.raw`\bthat${end}`,
    String.raw`\b(?:this|that)\s+(?:result|answer|output|number|file|text|content|list|sum|total|page|one)\b`,
    String.raw`\bthis${end}`,
    String.raw`\bthe (?:result|answer|output)\b(?! of\b)`,
    String.raw`\bthe (?:first one|one|file|text|content|list|number|sum|total|page|order)${end}`,
  ].join("|"),
  "i",
);

/**
 * For each part the parts before it whose results it needs, by their index. What is told by number is taken as told. "It",
 * "that" and "the result" stand for the part before; "them", "both", "the results", and parts that compare, combine, report
 * or summarise what they do not name themselves, for all parts before that no other one needs. "Then" alone tells an
 * order and no need, except before something definite that names nothing of its own ("then count the errors").
 */
export function linksOf(parts: readonly RequestPart[]): readonly (readonly number[])[] {
  const needed = new Set<number>();
  return parts.map((part, i) => {
    const told = numbersTold(part, i);
    const links =
      told.length > 0
        ? told
        : i === 0
          ? []
          : isOfSeveral(part.text)
            ? parts.slice(0, i).flatMap((_, j) => (needed.has(j) ? [] : [j]))
            : isOfOne(part)
              ? [i - 1]
              : [];
    for (const link of links) needed.add(link);
    return links;
  });
}

const joining =
  /^(?:compare|contrast|combine|merge|join|collate|report|summari[sz]e|synthesi[sz]e|conclude|tell|say|explain|describe|answer|write|give|make|prepare|draft|compose)\b/i;

/** Whether what is to be done with several results is to say something of them. */
export function joinsResults(text: string): boolean {
  return joining.test(text) && isOfSeveral(text);
}

/** Whether a text is about several results that were there before it. */
export function isOfSeveral(text: string): boolean {
  return several.test(text) || (gathering.test(text) && ownMaterial(text).length === 0);
}

function isOfOne({ text, isAfter }: RequestPart): boolean {
  if (one.test(text)) return true;
  return isAfter && /\bthe \p{L}/iu.test(text) && ownFacts(text).length === 0;
}

function numbersTold({ text, isNumbered }: RequestPart, index: number): readonly number[] {
  const lists = [...text.matchAll(named), ...(isNumbered ? text.matchAll(bare) : [])];
  const told = lists.flatMap(([, list = ""]) =>
    (list.match(/\d+/g) ?? []).map((all) => Number(all) - 1),
  );
  const known = [...new Set(told)].filter((number) => number >= 0 && number < index);
  return known.toSorted((a, b) => a - b);
}

/** What a part names to work on; where it writes to is none of it. */
function ownMaterial(text: string): readonly string[] {
  const without = text.replace(
    /\b(?:to|into|as|in) (?:the file )?["'`]?[\w./-]+\.\w{1,6}["'`]?\s*[.!]?$/i,
    "",
  );
  return [...pathsIn(without), ...urlsIn(text), ...quotedIn(without)];
}

function ownFacts(text: string): readonly unknown[] {
  const own = [pathsIn, urlsIn, quotedIn, emailsIn, codesIn, capitalsIn, namesIn, numbersIn];
  return own.flatMap((factsIn): readonly unknown[] => factsIn(text));
}
