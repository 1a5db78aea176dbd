import type { Redactions } from "../state/redactions.ts";
import { KnownValues } from "./known-values.ts";
import { mapTexts } from "./map-texts.ts";
import { markForm } from "./mark.ts";

type Redaction = Redactions[string];

/**
 * The value with all marks of `known` replaced by what they stand for, in keys too; others stay. A text within it that is
 * nothing but the mark of a number becomes the number.
 */
export function restore(value: unknown, known: Redactions): unknown {
  if (Object.keys(known).length === 0) return value;
  const find = finderIn(known);
  const text = (one: string) => restoreText(one, find);
  if (typeof value === "string") return text(value);
  return mapTexts(value, {
    key: text,
    text: (one) => (find(one)?.is_number === true ? Number(text(one)) : text(one)),
  });
}

export function restoreText(text: string, find: (mark: string) => Redaction | undefined): string {
  return text.includes("<") ? text.replaceAll(markForm, (mark) => find(mark)?.value ?? mark) : text;
}

/** Those of `known` whose marks stand in a value that is plain JSON, in its keys too. */
export function standingIn(value: unknown, known: Redactions): Redactions {
  if (Object.keys(known).length === 0) return known;
  const marks = new Set((JSON.stringify(value) ?? "").match(markForm));
  return Object.fromEntries(Object.entries(known).filter(([mark]) => marks.has(mark)));
}

/** What a mark stands for; undefined where that is nothing but itself. */
export function valueOfMark(mark: string, redaction: Redaction | undefined): string | undefined {
  return redaction === undefined || redaction.value === mark ? undefined : redaction.value;
}

/**
 * The value with every known value of at least 4 characters replaced by its mark, in keys and numbers too; where several
 * begin at one place, the longest. E-mail addresses are also found in other case, numbers of cards, accounts, phones and
 * social security in other groups: whatever the spelling, it is the value that has to stay hidden.
 *
 * What is looked for is made ready once for each object of redactions, which must not be changed therefore.
 */
export function hideKnown(value: unknown, known: Redactions): unknown {
  const values = knownValues(known);
  if (values.isEmpty) return value;
  const hide = (text: string) => values.hide(text, finderIn(known));
  return mapTexts(value, {
    key: hide,
    text: hide,
    number: (number) => values.markOfNumber(number) ?? number,
  });
}

const made = new WeakMap<Redactions, KnownValues>();

function knownValues(known: Redactions): KnownValues {
  const present = made.get(known);
  if (present !== undefined) return present;
  const values = new KnownValues(known);
  made.set(known, values);
  return values;
}

function finderIn(known: Redactions): (mark: string) => Redaction | undefined {
  return (mark) => (Object.hasOwn(known, mark) ? known[mark] : undefined);
}
