import { readSegments } from "../read-rows.ts";
import type {
  CheckpointKey,
  ElementRange,
  StoredCheckpoint,
  StoredElement,
  StoredWriteSet,
  ThreadRows,
} from "./thread-rows.ts";

/** How many checkpoints are read at a time. */
const CHECKPOINTS = 32;

export type StoredPart =
  | { readonly element: StoredElement }
  | { readonly checkpoint: StoredCheckpoint; readonly writeSets: readonly StoredWriteSet[] }
  /** A checkpoint that was removed meanwhile. */
  | { readonly gone: CheckpointKey };

/**
 * The checkpoints with these keys in their order, each after the elements that it is the first to refer to. An element
 * is read once, so the time is in proportion to what is stored. A few hundred rows are held at a time.
 */
export async function* storedParts(
  rows: ThreadRows,
  keys: readonly CheckpointKey[],
): AsyncGenerator<StoredPart> {
  const read = new ReadRanges();
  for (let start = 0; start < keys.length; start += CHECKPOINTS) {
    const portion = keys.slice(start, start + CHECKPOINTS);
    const found = new Map(
      (await rows.checkpoints(portion)).map((checkpoint) => [placeOf(checkpoint), checkpoint]),
    );
    const writeSets = new Map<string, StoredWriteSet[]>();
    for (const set of await rows.writeSets(portion)) {
      const place = placeOf(set);
      writeSets.set(place, [...(writeSets.get(place) ?? []), set]);
    }
    const ranges = [...found.values()].flatMap(({ segments }) =>
      (readSegments(segments) ?? []).flatMap((range) => read.add(range)),
    );
    for await (const element of rows.elements(ranges)) yield { element };
    for (const key of portion) {
      const checkpoint = found.get(placeOf(key));
      if (checkpoint === undefined) yield { gone: key };
      else yield { checkpoint, writeSets: writeSets.get(placeOf(key)) ?? [] };
    }
  }
}

function placeOf({ namespace, id }: CheckpointKey): string {
  return `${namespace}\n${id}`;
}

/** Ranges that were asked for, joined where they meet. */
class ReadRanges {
  /** By log, ascending. */
  readonly #ranges = new Map<number, ElementRange[]>();

  /** @returns the parts of it that were not in it before */
  add({ log, from, to }: ElementRange): ElementRange[] {
    const ranges = this.#ranges.get(log) ?? [];
    const missing: ElementRange[] = [];
    const apart: ElementRange[] = [];
    let [start, end, at] = [from, to, from];
    for (const range of ranges) {
      if (range.to < from || range.from > to) {
        apart.push(range);
        continue;
      }
      if (range.from > at) missing.push({ log, from: at, to: range.from });
      at = Math.max(at, range.to);
      start = Math.min(start, range.from);
      end = Math.max(end, range.to);
    }
    if (at < to) missing.push({ log, from: at, to });
    const joined = [...apart, { log, from: start, to: end }];
    this.#ranges.set(
      log,
      joined.toSorted((a, b) => a.from - b.from),
    );
    return missing;
  }
}
