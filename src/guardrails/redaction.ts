import type { Redactions } from "../state/rails.ts";
import { isRecord } from "../values/json.ts";
import { KnownValueIndex, placeholderPattern } from "./known-values.ts";

type Redaction = Redactions[string];

/**
 * The value with all marks of `known` replaced by what they stand for, in keys too; others stay. A text within it that is
 * nothing but the mark of a number becomes the number.
 */
export function unredact(value: unknown, known: Redactions): unknown {
  if (Object.keys(known).length === 0) return value;
  const find = finderIn(known);
  const text = (one: string) => unredactText(one, find);
  if (typeof value === "string") return text(value);
  return mapTexts(value, {
    key: text,
    text: (one) => (find(one)?.is_number === true ? Number(text(one)) : text(one)),
  });
}

export function unredactText(text: string, find: (mark: string) => Redaction | undefined): string {
  return text.includes("<")
    ? text.replaceAll(placeholderPattern, (mark) => find(mark)?.value ?? mark)
    : text;
}

/** Those of `known` whose marks stand in a value that is plain JSON, in its keys too. */
export function redactionsIn(value: unknown, known: Redactions): Redactions {
  if (Object.keys(known).length === 0) return known;
  const marks = new Set((JSON.stringify(value) ?? "").match(placeholderPattern));
  return Object.fromEntries(Object.entries(known).filter(([mark]) => marks.has(mark)));
}

/** What a mark stands for; undefined where that is nothing but itself. */
export function valueOfPlaceholder(
  mark: string,
  redaction: Redaction | undefined,
): string | undefined {
  return redaction === undefined || redaction.value === mark ? undefined : redaction.value;
}

/**
 * The value with every known value of at least 4 characters replaced by its mark, in keys and numbers too; where several
 * begin at one place, the longest. E-mail addresses are also found in other case, numbers of cards, accounts, phones and
 * social security in other groups: whatever the spelling, it is the value that has to stay hidden.
 *
 * What is looked for is made ready once for each object of redactions, which must not be changed therefore.
 */
export function redactKnownValues(value: unknown, known: Redactions): unknown {
  const values = knownValues(known);
  if (values.isEmpty) return value;
  const hide = (text: string) => values.redact(text, finderIn(known));
  return mapTexts(value, {
    key: hide,
    text: hide,
    number: (number) => values.placeholderOfNumber(number) ?? number,
  });
}

const made = new WeakMap<Redactions, KnownValueIndex>();

function knownValues(known: Redactions): KnownValueIndex {
  const present = made.get(known);
  if (present !== undefined) return present;
  const values = new KnownValueIndex(known);
  made.set(known, values);
  return values;
}

function finderIn(known: Redactions): (mark: string) => Redaction | undefined {
  return (mark) => (Object.hasOwn(known, mark) ? known[mark] : undefined);
}

export interface TextChanges {
  /** Of names of properties. */
  readonly key: (key: string) => string;
  readonly text: (text: string) => unknown;
  /** Default: they stay. */
  readonly number?: (number: number) => unknown;
}

/**
 * A copy with each text changed; the same value, list or object where nothing in it changed. Properties whose names
 * become the same are kept apart, as `namesApart` has it.
 */
function mapTexts(value: unknown, changes: TextChanges): unknown {
  if (typeof value === "string") return changes.text(value);
  if (typeof value === "number") return changes.number?.(value) ?? value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => mapTexts(item, changes));
    return items.some((item, at) => !Object.is(item, value[at])) ? items : value;
  }
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  const names = keys.map((key) => changes.key(key));
  const items = keys.map((key) => mapTexts(value[key], changes));
  const isSame = keys.every((key, at) => names[at] === key && Object.is(items[at], value[key]));
  if (isSame) return value;
  return Object.fromEntries(namesApart(keys, names).map((name, at) => [name, items[at]]));
}

/**
 * Changed names of properties, none of them twice: one that another property has already is followed by a number, as in
 * `<EMAIL_1> (2)`, so that no property is lost. Those that did not change keep their name.
 */
export function namesApart(
  names: readonly string[],
  changed: readonly string[],
): readonly string[] {
  const taken = new Set(names.filter((name, at) => changed[at] === name));
  const counts = new Map<string, number>();
  return changed.map((name, at) => {
    if (name === names[at]) return name;
    let count = counts.get(name) ?? 1;
    let apart = name;
    while (taken.has(apart)) {
      count += 1;
      apart = `${name} (${count})`;
    }
    counts.set(name, count);
    taken.add(apart);
    return apart;
  });
}
