import type { Conversation } from "./conversation.ts";
import { stemsOf, wordsOf } from "./words.ts";

/** One of several values, and the words it was chosen by. */
export interface ChosenValue {
  readonly value: unknown;
  /** Words that what was asked shares with the value and its description; empty when it was chosen for want of any. */
  readonly shared: readonly string[];
}

const labelWeight = 3;
const relatedWeight = 0.5;

/** Words that people use for one matter, beside those that descriptions have. */
const matters = [
  "bill billing invoice charge payment pay paid price money card refund receipt subscription twice cost",
  "technical crash bug error broken fail install log login password slow freeze screen connect",
  "sales sell buy offer quote discount demo upgrade plan pricing",
  "refund return cancel money back reimburse",
  "shipping delivery deliver parcel package track arrive late",
  "account profile login password email address",
].map(stemsOf);

const catchAll =
  /^(other|others|else|general|misc|miscellaneous|unknown|none|fallback|default)$|\b(anything|everything) else\b|\bthe rest\b/i;

/**
 * Chooses by words in common between what was asked and the values with what `about` says of them: in lines such as
 * `- billing: invoices and payments`, else in lines that name one value only. It is word overlap and no understanding. What
 * was said before the request decides where the request does not, then a value that is for everything else, then the
 * order.
 */
export function chooseValue(
  choices: readonly unknown[],
  about: string,
  conversation: Pick<Conversation, "request" | "outcomes" | "earlier">,
): ChosenValue {
  const { request, outcomes, earlier } = conversation;
  const described = choices.map((one) => describedIn(about, String(one), choices));
  const words = described.map((text) => stemsOf(text));
  const texts = [[request, ...outcomes.map((one) => one.text)].join(" "), earlier.join(" ")];
  let left = choices.map((_, index) => index);
  let shared: readonly string[] = [];
  for (const text of texts) {
    const asked = stemsOf(text);
    const scores = choices.map((one, index) => score(asked, String(one), index, words));
    const top = Math.max(...left.map((index) => scores[index]?.sum ?? 0));
    left = left.filter((index) => scores[index]?.sum === top);
    const stems = new Set(scores[left[0] ?? 0]?.shared);
    if (shared.length === 0) shared = wordsOf(text).filter((word) => speaks(word, stems));
    if (left.length === 1) break;
  }
  const rest = left.find((index) => {
    return catchAll.test(String(choices[index])) || catchAll.test(described[index] ?? "");
  });
  const chosen = (shared.length === 0 ? rest : undefined) ?? left[0] ?? 0;
  return { value: choices[chosen], shared: [...new Set(shared)] };
}

function speaks(word: string, stems: ReadonlySet<string>): boolean {
  return [...stemsOf(word)].some((stem) => stems.has(stem));
}

/** A word counts less the more of the values share it. */
function score(
  asked: ReadonlySet<string>,
  label: string,
  index: number,
  words: readonly ReadonlySet<string>[],
): { readonly sum: number; readonly shared: readonly string[] } {
  const named = stemsOf(label);
  const own = words[index] ?? new Set<string>();
  const related = new Set(
    matters
      .filter((matter) => [...named, ...own].some((stem) => matter.has(stem)))
      .flatMap((matter) => [...matter]),
  );
  let sum = 0;
  const shared: string[] = [];
  for (const stem of asked) {
    const weight =
      (named.has(stem) ? labelWeight : 0) +
      (own.has(stem) ? 1 / words.filter((others) => others.has(stem)).length : 0) +
      (related.has(stem) ? relatedWeight : 0);
    if (weight > 0) shared.push(stem);
    sum += weight;
  }
  return { sum, shared };
}

function describedIn(about: string, label: string, choices: readonly unknown[]): string {
  const lines = about.split(/\n|;\s/);
  const listed = lines.flatMap((line) => {
    const [, head = "", text = ""] = /^\s*[-*•]?\s*([^:]+):\s+(.+)$/.exec(line) ?? [];
    return head.replace(/["'`*]/g, "").trim() === label ? [text] : [];
  });
  if (listed.length > 0) return listed.join(" ");
  const named = (line: string, one: string) =>
    ` ${wordsOf(line).join(" ")} `.includes(` ${wordsOf(one).join(" ")} `);
  const ofOne = lines.filter(
    (line) =>
      named(line, label) && choices.filter((other) => named(line, String(other))).length === 1,
  );
  return ofOne.join(" ");
}

/** Keys that say why something was chosen. */
export const reasonName = /^(reason|reasons|reasoning|rationale|why|explanation|justification)$/i;

/** Why a value was chosen, said honestly. */
export function whyChosen({ value, shared }: ChosenValue): string {
  const why =
    shared.length === 0
      ? "nothing that was asked speaks for any choice"
      : `what was asked has ${shared.join(", ")}`;
  return `[offline:rules] ${String(value)}, by word overlap: ${why}.`;
}
