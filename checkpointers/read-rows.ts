import type { ReadElement } from "./elements/load-value.ts";
import type { Segment } from "./elements/log.ts";
import { elementHash } from "./elements/store-value.ts";
import { CorruptCheckpointError } from "./errors.ts";
import type { CheckpointRow, ElementsRow } from "./queries.ts";

/** What one statement gave: checkpoints, and the elements they refer to. */
export interface ReadRows {
  readonly checkpoints: readonly CheckpointRow[];
  element(log: number, idx: number): ReadElement | undefined;
}

export function readRows(
  rows: readonly ((CheckpointRow & { log: null }) | (ElementsRow & { thread_id: null }))[],
): ReadRows {
  const checkpoints: CheckpointRow[] = [];
  const logs = new Map<number, Map<number, RawElement>>();
  for (const row of rows) {
    if (row.thread_id !== null) {
      checkpoints.push(row);
      continue;
    }
    if (row.idxs === null) continue; // Nothing stands in that range.
    const log = Number(row.log);
    const elements = logs.get(log) ?? new Map<number, RawElement>();
    logs.set(log, elements);
    let start = 0;
    for (const [at, idx] of row.idxs.entries()) {
      const end = start + row.lengths[at]!;
      elements.set(idx, { type: row.types[at] ?? null, blob: row.blobs.subarray(start, end) });
      start = end;
    }
  }
  return {
    checkpoints,
    element(log, idx) {
      const element = logs.get(log)?.get(idx);
      if (element === undefined) return undefined;
      // Checkpoints of one page share elements: each is hashed once.
      element.hash ??= elementHash(element);
      return element as ReadElement;
    },
  };
}

interface RawElement {
  readonly type: string | null;
  readonly blob: Buffer;
  hash?: Buffer;
}

/** @returns the triples of a row, or null where they are not triples of whole numbers */
export function readSegments(flat: readonly (string | number)[] | null): Segment[] | null {
  const numbers = (flat ?? []).map(Number);
  if (numbers.length % 3 !== 0) return null;
  const segments: Segment[] = [];
  for (let at = 0; at < numbers.length; at += 3) {
    const [log, from, to] = numbers.slice(at, at + 3) as [number, number, number];
    if (!Number.isSafeInteger(log) || !(from >= 0 && from < to && to <= 2 ** 31)) return null;
    segments.push({ log, from, to });
  }
  return segments;
}

/** Says of a row that it is not as it was written. */
export function damagedRow(
  row: Pick<CheckpointRow, "thread_id" | "checkpoint_ns" | "checkpoint_id">,
  reason: string,
  cause?: unknown,
): CorruptCheckpointError {
  const { thread_id, checkpoint_ns, checkpoint_id } = row;
  return new CorruptCheckpointError(thread_id, checkpoint_ns, checkpoint_id, reason, { cause });
}
