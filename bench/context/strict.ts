import { isRecord } from "../../src/values/json.ts";
import type { Piece } from "./counting.ts";
import type { Call, Thread } from "./threads.ts";

/** Characters of one message in which a name has to stand before its value, and partners near each other. */
const near = 300;

/** An object of a result: the values that it has under names of its own, and its key in a dictionary. */
type Held = readonly (readonly [name: string, value: string])[];

interface Holding {
  readonly name: string;
  /** Step whose result held it. */
  readonly step: number;
  /** Empty for items of lists, and for keys of what is no object. */
  readonly object: Held;
}

interface Holdings {
  /** By value, in order. */
  readonly byValue: ReadonlyMap<string, readonly Holding[]>;
  readonly objects: readonly { readonly step: number; readonly object: Held }[];
}

const known = new WeakMap<Thread, Holdings>();

/** What results of the thread held each value under. An item of a list has the list's name. */
export function holdingsOf(thread: Thread): Holdings {
  const before = known.get(thread);
  if (before !== undefined) return before;
  const byValue = new Map<string, Holding[]>();
  const objects: { step: number; object: Held }[] = [];
  for (const [step, { tool_results: results }] of thread.steps.entries()) {
    const add = (value: string, name: string, object: Held): void => {
      const holding = { name, step, object };
      const list = byValue.get(value);
      if (list === undefined) byValue.set(value, [holding]);
      else list.push(holding);
    };
    const visit = (value: unknown, name: string, key: Held): void => {
      if (isScalar(value)) add(String(value), name, []);
      else if (Array.isArray(value)) for (const item of value) visit(item, name, []);
      else if (isRecord(value)) {
        const own = Object.entries(value).filter(([, one]) => isScalar(one));
        const object: Held = [...key, ...own.map(([field, one]) => [field, String(one)] as const)];
        objects.push({ step, object });
        for (const [field, one] of object) add(one, field, object);
        for (const [field, inner] of Object.entries(value)) {
          // A key may be what a call needs, such as `basic_economy` among prices.
          if (!isRecord(inner)) add(field, name, []);
          if (!isScalar(inner)) visit(inner, field, isRecord(inner) ? [[name, field]] : []);
        }
      }
    };
    for (const { name, result } of results) visit(result, name, []);
  }
  const made = { byValue, objects };
  known.set(thread, made);
  return made;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** Needed values that cannot be told for what they are, and pairs of values that were parted. */
export interface Strict {
  readonly unnamed: readonly string[];
  readonly parted: readonly string[];
}

/**
 * The strict measure of one call. A needed value can be read if it stands in a sentence (what was said, a thought), or
 * at most 300 characters after a name under which an earlier result held it, in the same message; the header of a table
 * counts. Values that belong together can be read together: a needed value and another one of the same entry in the
 * arguments (a flight and its date, a payment and its amount) that one object of an earlier result held both. They have
 * to stand so in one message, at most 300 characters apart, without the value of another such object between them.
 */
export function strictMisses(thread: Thread, call: Call, pieces: readonly Piece[]): Strict {
  const { byValue, objects } = holdingsOf(thread);
  const before = (value: string): readonly Holding[] =>
    (byValue.get(value) ?? []).filter(({ step }) => step < call.before.steps);
  const unnamed = call.needed.filter((value) => {
    const names = new Set(before(value).map(({ name }) => name));
    return !pieces.some((piece) => placesOf(piece, value, names).length > 0);
  });
  const all = objects.filter(({ step }) => step < call.before.steps).map(({ object }) => object);
  const parted = partnersOf(call, before, all).filter(
    (pair) => !pieces.some((piece) => areTogether(piece, pair)),
  );
  return { unnamed, parted: parted.map(({ one, other }) => `${one.value} with ${other.value}`) };
}

interface Part {
  readonly value: string;
  readonly names: ReadonlySet<string>;
}

interface Partners {
  readonly one: Part;
  readonly other: Part;
  /** Values that other objects have under the same names. */
  readonly rivals: ReadonlySet<string>;
}

function partnersOf(
  call: Call,
  before: (value: string) => readonly Holding[],
  objects: readonly Held[],
): readonly Partners[] {
  const pairs: Partners[] = [];
  for (const value of call.needed) {
    const entries = call.entries.filter((entry) => entry.includes(value));
    for (const argument of new Set(entries.flat())) {
      const isNeeded = call.needed.includes(argument);
      if (argument === value || (isNeeded && argument < value)) continue;
      const both = before(value).flatMap(({ name, object }) => {
        const own = object.find(([field, held]) => held === argument && field !== name);
        return own === undefined ? [] : [[name, own[0]] as const];
      });
      if (both.length === 0) continue;
      const one = { value, names: new Set(both.map(([name]) => name)) };
      const other = { value: argument, names: new Set(both.map(([, name]) => name)) };
      pairs.push({ one, other, rivals: rivalsOf(objects, one, other) });
    }
  }
  return pairs;
}

function rivalsOf(objects: readonly Held[], one: Part, other: Part): ReadonlySet<string> {
  const rivals = new Set<string>();
  for (const object of objects) {
    const of = (names: ReadonlySet<string>) => object.filter(([field]) => names.has(field));
    const [ones, others] = [of(one.names), of(other.names)];
    if (ones.length === 0 || others.length === 0) continue;
    if (ones.some(([, value]) => value === one.value)) continue;
    for (const [, value] of ones) rivals.add(value);
  }
  rivals.delete(other.value);
  return rivals;
}

function areTogether(piece: Piece, { one, other, rivals }: Partners): boolean {
  const places = placesOf(piece, one.value, one.names);
  if (places.length === 0) return false;
  const partners = placesOf(piece, other.value, other.names);
  return places.some((place) =>
    partners.some((partner) => {
      if (Math.abs(place - partner) > near) return false;
      const [from, to] = place < partner ? [place, partner] : [partner, place];
      const first = place < partner ? one.value : other.value;
      const between = piece.text.slice(from + first.length, to);
      return ![...rivals].some((rival) => hasWord(between, rival));
    }),
  );
}

/** Where a value stands so that it can be told what it is: in a sentence, or not far after its name. */
function placesOf(piece: Piece, value: string, names: ReadonlySet<string>): readonly number[] {
  const { text } = piece;
  const places: number[] = [];
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    if (!isWord(text, at, value)) continue;
    if (piece.isSaid) places.push(at);
    else {
      const head = text.slice(Math.max(0, at - near), at);
      if ([...names].some((name) => hasWord(head, name))) places.push(at);
    }
  }
  return places;
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (isWord(text, at, word)) return true;
  }
  return false;
}

/** Returns whether a match is a whole word: no letter or digit precedes or follows it. */
function isWord(text: string, at: number, word: string): boolean {
  return !/[\w]/.test(text[at - 1] ?? " ") && !/[\w]/.test(text[at + word.length] ?? " ");
}
