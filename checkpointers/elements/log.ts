/** Elements `from` up to and without `to` of a log. */
export interface Segment {
  readonly log: number;
  readonly from: number;
  readonly to: number;
}

/** The end of a log, where this process appends. Values that stand in one log share this object. */
export interface LogTail {
  readonly log: number;
  /** Where the next element goes: behind all that this process knows of. */
  next: number;
  /** Another process has written there: nothing more is to be appended. */
  closed: boolean;
}

/** An element that is to be written. `type` is null for JSON. */
export interface NewElement {
  readonly log: number;
  readonly idx: number;
  readonly type: string | null;
  readonly blob: Uint8Array;
}

/** Joins segments that follow each other in one log. */
export function joinSegments(segments: readonly Segment[]): Segment[] {
  const joined: Segment[] = [];
  for (const segment of segments) {
    if (segment.from === segment.to) continue;
    const last = joined.at(-1);
    if (last?.log === segment.log && last.to === segment.from) {
      joined[joined.length - 1] = { ...last, to: segment.to };
    } else joined.push(segment);
  }
  return joined;
}

/** The segments of elements `from` up to and without `to`, counted from the start of the sequence. */
export function sliceSegments(segments: readonly Segment[], from: number, to: number): Segment[] {
  const slice: Segment[] = [];
  let start = 0;
  for (const { log, from: first, to: last } of segments) {
    const end = start + last - first;
    if (end > from && start < to) {
      slice.push({
        log,
        from: first + Math.max(0, from - start),
        to: last - Math.max(0, end - to),
      });
    }
    start = end;
  }
  return slice;
}
