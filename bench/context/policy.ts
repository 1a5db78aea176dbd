import { readNotation } from "../../src/models/offline/notation.ts";
import { isRecord } from "../../src/values/json.ts";
import { percent, printTable } from "../helpers/table.ts";
import type { Piece } from "./counting.ts";
import type { Reader } from "./readers.ts";
import { holdingsOf } from "./strict.ts";
import type { Call, Thread } from "./threads.ts";
import { dataReadings } from "./trajectories.ts";

type Field = readonly [name: string, value: string];

/** What is known of an object in a context: its fields, those of what it is in apart. */
interface Read {
  readonly fields: readonly Field[];
}

/** What the policy looks for. It knows no value: only names, and what was said of the object. */
interface Wanted {
  readonly tool: string;
  readonly names: ReadonlySet<string>;
  readonly hints: ReadonlySet<string>;
}

/**
 * Prints how many calls a scripted policy can make from a context. For each needed argument the policy gets the names
 * under which results may hold it, and the other fields of the wanted object that the conversation or the call contains.
 * It reads all objects of the context (JSON, the notation, lines), and picks the one that matches most of these fields;
 * of several matches the last, of the items of a list the first that no earlier call of the tool in the context has used.
 */
export function printPolicy(
  title: string,
  threads: readonly Thread[],
  options: { readonly readers: readonly Reader[]; readonly counts?: (call: Call) => boolean },
): void {
  const { readers, counts = () => true } = options;
  const calls = threads.flatMap((thread) =>
    thread.calls
      .filter((call) => call.needed.length > 0 && counts(call))
      .map((call) => ({ thread, call })),
  );
  const rows = readers.map((reader) => {
    let done = 0;
    let values = 0;
    for (const { thread, call } of calls) {
      const pieces = reader.read(thread, call) ?? [];
      const found = call.needed.filter(
        (value) => chosen(pieces, wantedOf(thread, call, value)) === value,
      );
      values += found.length;
      if (found.length === call.needed.length) done += 1;
    }
    const needed = calls.reduce((sum, { call }) => sum + call.needed.length, 0);
    return [reader.name, percent(done / calls.length), percent(values / needed)];
  });
  console.log(`\nA policy that finds arguments by their names, ${title}: ${calls.length} calls\n`);
  printTable(["", "calls made", "arguments found"], rows);
}

function wantedOf(thread: Thread, call: Call, value: string): Wanted {
  const held = (holdingsOf(thread).byValue.get(value) ?? []).filter(
    ({ step }) => step < call.before.steps,
  );
  const object = held.findLast((one) => one.object.length > 0)?.object ?? [];
  const said = thread.raw
    .slice(0, call.before.messages)
    .flatMap(dataReadings)
    .filter(({ isSaid }) => isSaid)
    .map(({ text }) => text.toLowerCase());
  const known = new Set(call.entries.filter((entry) => entry.includes(value)).flat());
  const isKnown = (one: string): boolean =>
    known.has(one) || (one.length > 1 && said.some((text) => wordsOf(text).has(one.toLowerCase())));
  const others = object.map(([, own]) => own).filter((own) => !call.needed.includes(own));
  return {
    tool: thread.steps[call.before.steps]?.tool_predictions[0]?.name ?? "",
    names: new Set(held.map(({ name }) => name)),
    hints: new Set(others.filter(isKnown)),
  };
}

const words = new Map<string, ReadonlySet<string>>();

function wordsOf(text: string): ReadonlySet<string> {
  const before = words.get(text);
  if (before !== undefined) return before;
  const made = new Set(text.match(/[\p{L}\p{N}_]+(?:[-.][\p{L}\p{N}_]+)*/gu));
  words.set(text, made);
  return made;
}

function chosen(pieces: readonly Piece[], { tool, names, hints }: Wanted): string | null {
  const used = new Set<string>();
  let best: { readonly value: string; readonly score: number; readonly isUsed: boolean } | null =
    null;
  for (const [at, { text }] of pieces.entries()) {
    if (text === tool)
      for (const value of leaves(parsed(pieces[at + 1]?.text ?? ""))) used.add(value);
    for (const [, name, args = ""] of text.matchAll(/^- ([\w.-]+)\((.*?)\) → /gm)) {
      if (name === tool) for (const [, value = ""] of args.matchAll(/"([^"]*)"/g)) used.add(value);
    }
  }
  for (const piece of pieces) {
    if (piece.isSaid) continue;
    for (const { fields } of readIn(piece.text)) {
      const score = fields.filter(([, value]) => hints.has(value)).length;
      let isFirst = true;
      for (const [name, value] of fields) {
        if (!names.has(name) || hints.has(value)) continue;
        const isUsed = score === 0 && used.has(value);
        const isBetter =
          best === null ||
          (best.isUsed && !isUsed) ||
          (best.isUsed === isUsed && (score > best.score || (isFirst && score === best.score)));
        if (isBetter) best = { value, score, isUsed };
        if (!isUsed) isFirst = false;
      }
    }
  }
  return best?.value ?? null;
}

const read = new Map<string, readonly Read[]>();

/** Returns the objects that a text describes. */
function readIn(text: string): readonly Read[] {
  const before = read.get(text);
  if (before !== undefined) return before;
  const made: Read[] = [];
  const [body = "", rest] = text.split("\nalso in it: ");
  const value = parsed(body) ?? readNotation(body);
  if (value !== undefined && value !== null) objectsOf(value, "", [], made);
  for (const [, tool = "", args = "", told = ""] of text.matchAll(
    /^- ([\w.-]+)\((.*?)\) → success(?:[:;] (.*))?$/gm,
  )) {
    const given = [...args.matchAll(/(\w+)="([^"]*)"/g)];
    const fields = given.map(([, name = "", own = ""]) => [name, own] as const);
    made.push(...factsIn(told, tool, fields));
  }
  if (rest !== undefined) made.push(...factsIn(rest, "", []));
  read.set(text, made);
  return made;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function leaves(value: unknown): readonly string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [];
}

function objectsOf(value: unknown, name: string, key: readonly Field[], into: Read[]): void {
  if (Array.isArray(value)) {
    const scalars = value.filter((item) => !isRecord(item) && !Array.isArray(item));
    if (scalars.length > 0)
      into.push({ fields: scalars.map((item) => [name, String(item)] as const) });
    for (const item of value) if (!scalars.includes(item)) objectsOf(item, name, [], into);
  } else if (isRecord(value)) {
    const own = Object.entries(value).filter(([, one]) => typeof one !== "object");
    into.push({ fields: [...key, ...own.map(([field, one]) => [field, String(one)] as const)] });
    // A dictionary of numbers: its keys are values.
    const isCounts = own.length > 1 && own.every(([, one]) => typeof one === "number");
    if (isCounts) into.push({ fields: own.map(([field]) => [name, field] as const) });
    for (const [field, inner] of Object.entries(value)) {
      if (typeof inner === "object")
        objectsOf(inner, field, isRecord(inner) ? [[name, field]] : [], into);
    }
  }
}

/** `reservations: NO6JO3, AIXC49; flights(number, date, status=open): HAT1, 2024-05-17 | HAT2, 2024-05-18` */
function factsIn(told: string, tool: string, given: readonly Field[]): readonly Read[] {
  const own: Field[] = [...given];
  const objects: Read[] = [];
  for (const part of told.split("; ")) {
    const table = /^([^(:]*)\(([^)]*)\): (.*)$/.exec(part);
    if (table !== null) {
      const [, name = "", heading = "", rows = ""] = table;
      const columns = heading.split(", ");
      const fixed = columns.flatMap((column) => {
        const [key = "", value] = column.split("=");
        return value === undefined ? [] : [[key, value] as const];
      });
      const open = columns.filter((column) => !column.includes("="));
      for (const row of rows.split(" | ")) {
        const cells = row
          .split(", ")
          .map((cell, at) => [open[at] === "*" ? name : (open[at] ?? ""), cell] as const);
        objects.push({ fields: [...cells, ...fixed] });
      }
      continue;
    }
    const named = /^([\w.$@/* -]+): (.*)$/.exec(part);
    const name = named?.[1] ?? tool;
    for (const item of (named?.[2] ?? part).split(", "))
      own.push([name, item.split(": ")[0] ?? item]);
  }
  return [{ fields: own }, ...objects];
}
