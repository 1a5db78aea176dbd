import { isRecord } from "../values/json.ts";
import type { FoundSpan } from "../state/rails.ts";
import { namesApart } from "./redaction.ts";
import type { RailSpan } from "../definition/rail.ts";

/** Where something stands in a value. */
interface Place {
  readonly above: Place | null;
  /** The name of a property or the number of an item. */
  readonly part: string;
  /** Which of the leaves the name is; null where it is none. */
  readonly leaf: number | null;
}

/** A text of a value, and where it stands in all of them together. */
interface Leaf {
  /** Null for a value that is a text itself. */
  readonly place: Place | null;
  readonly kind: "text" | "number" | "key";
  readonly text: string;
  /** Of its first character in {@link ValueTexts.text}. */
  readonly start: number;
}

/** The texts of a value, one a line: what a rail checks. */
export interface ValueTexts {
  readonly text: string;
  readonly leaves: readonly Leaf[];
}

/** Spans of each leaf that has any, by its number. */
export type SpansByLeaf = ReadonlyMap<number, readonly RailSpan[]>;

/** Digits from which on a number may be one of a card, a phone or an account. */
const identifyingDigits = 7;

/** Names made up by people have fewer digits. */
const mostNameDigits = 4;

/**
 * All texts of a value in order, its numbers that may identify a person, and its names of properties that are no plain
 * names, before what they name.
 */
export function textsOf(value: unknown): ValueTexts {
  const leaves: Leaf[] = [];
  let length = 0;
  const add = (place: Place | null, kind: Leaf["kind"], text: string) => {
    leaves.push({ place, kind, text, start: length });
    length += text.length + 1;
  };
  const walk = (one: unknown, place: Place | null): void => {
    const text = textOfLeaf(one);
    if (text !== null) {
      add(place, typeof one === "number" ? "number" : "text", text);
    } else if (Array.isArray(one)) {
      one.forEach((item, at) => walk(item, { above: place, part: String(at), leaf: null }));
    } else if (isRecord(one)) {
      for (const [key, item] of Object.entries(one)) {
        const leaf = isPlainName(key) ? null : leaves.length;
        const inside = { above: place, part: key, leaf };
        if (leaf !== null) add(inside, "key", key);
        walk(item, inside);
      }
    }
  };
  walk(value, null);
  return { text: leaves.map(({ text }) => text).join("\n"), leaves };
}

function textOfLeaf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value !== "number") return null;
  const text = String(value);
  return /^\d+$/.test(text) && text.length >= identifyingDigits ? text : null;
}

/** Whether it names a property and tells nothing, such as `order_id`, `firstName`, `line-2` or `17`. */
function isPlainName(key: string): boolean {
  if (/^\d*$/.test(key)) return key.length < identifyingDigits;
  const digits = key.replaceAll(/\D/g, "").length;
  return /^[a-z_$][\w$-]{0,39}$/.test(key) && digits <= mostNameDigits;
}

/** Spans of all texts together, as spans of each: one that goes over a line's end becomes one in each line. */
export function spansByLeaf({ leaves }: ValueTexts, spans: readonly RailSpan[]): SpansByLeaf {
  const byLeaf = new Map<number, RailSpan[]>();
  let first = 0;
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    while (first < leaves.length && endOf(leaves[first]) <= span.start) first += 1;
    for (let at = first; at < leaves.length; at += 1) {
      const leaf = leaves[at];
      if (leaf === undefined || leaf.start >= span.end) break;
      const start = Math.max(span.start - leaf.start, 0);
      const end = Math.min(span.end - leaf.start, leaf.text.length);
      if (start >= end) continue;
      const own = { start, end, label: span.label };
      const present = byLeaf.get(at);
      if (present === undefined) byLeaf.set(at, [own]);
      else present.push(own);
    }
  }
  return byLeaf;
}

function endOf(leaf: Leaf | undefined): number {
  return leaf === undefined ? 0 : leaf.start + leaf.text.length;
}

/** The same for records, in which names of properties have labels in the place of what was found in them. */
export function foundSpans({ leaves }: ValueTexts, byLeaf: SpansByLeaf): readonly FoundSpan[] {
  const paths = new Map<Place, string>();
  const pathOf = (place: Place | null): string => {
    if (place === null) return "";
    const present = paths.get(place);
    if (present !== undefined) return present;
    const { above, part, leaf } = place;
    const own = leaf === null ? [] : (byLeaf.get(leaf) ?? []);
    const path = `${pathOf(above)}/${pointerPart(withLabels(part, own))}`;
    paths.set(place, path);
    return path;
  };
  return [...byLeaf].flatMap(([at, spans]) => {
    const { place = null, kind = "text" } = leaves[at] ?? {};
    const path = pathOf(place) + (kind === "key" ? "#" : "");
    return spans.map(({ start, end, label }) => ({ path, start, end, label }));
  });
}

function withLabels(text: string, spans: readonly RailSpan[]): string {
  let done = "";
  let at = 0;
  for (const { start, end, label } of spans) {
    if (start >= at) done += `${text.slice(at, start)}<${label}>`;
    at = Math.max(at, end);
  }
  return done + text.slice(at);
}

function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The value with some of its texts replaced, by the leaf's number; numbers among them become texts. */
export function withTexts(value: unknown, texts: ReadonlyMap<number, string>): unknown {
  if (texts.size === 0) return value;
  let leaf = 0;
  const replaced = <T>(one: T): T | string => {
    const text = texts.get(leaf);
    leaf += 1;
    return text ?? one;
  };
  const walk = (one: unknown): unknown => {
    if (textOfLeaf(one) !== null) return replaced(one);
    if (Array.isArray(one)) return one.map(walk);
    if (!isRecord(one)) return one;
    const keys = Object.keys(one);
    const names: string[] = [];
    const items = keys.map((key) => {
      names.push(isPlainName(key) ? key : replaced(key));
      return walk(one[key]);
    });
    return Object.fromEntries(namesApart(keys, names).map((name, at) => [name, items[at]]));
  };
  return walk(value);
}
