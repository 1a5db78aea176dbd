import { WRITES_IDX_MAP, type PendingWrite } from "@langchain/langgraph-checkpoint";
import type { Dumped } from "./elements/store-value.ts";
import { pack, unpack } from "./pack.ts";

/** A write of a task, as bytes. */
export interface DumpedWrite extends Dumped {
  /** Its number among the task's writes; negative for the special ones, of which there is one each. */
  readonly idx: number;
  readonly channel: string;
}

/** Writes that are stored together. */
export interface WriteSet {
  /** The lowest of its writes. */
  readonly idx: number;
  readonly body: Buffer;
}

/** How the writes of one task are stored. */
export interface WriteSetOptions {
  /** Whether they replace what was there. */
  readonly replacing: boolean;
  /** Of the task, as LangGraph writes it: writes of a step are applied in this order. Empty where there is none. */
  readonly taskPath: string;
}

/** The number under which a task's write is stored. */
export function writeIndex([channel]: PendingWrite, at: number): number {
  // A channel may have the name of something that every object inherits.
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel]! : at;
}

/** Whether all are of those that replace what was there: errors, interrupts, answers. */
export function areReplacing(writes: readonly PendingWrite[]): boolean {
  return writes.every(([channel]) => Object.hasOwn(WRITES_IDX_MAP, channel));
}

/** Special writes are kept one by one, since one of them may be there already; the others stay together. */
export function toWriteSets(
  writes: readonly DumpedWrite[],
  { replacing, taskPath }: WriteSetOptions,
): WriteSet[] {
  // Of several with one number the last counts where they replace each other, else the first.
  const byIndex = new Map<number, DumpedWrite>();
  for (const write of writes) {
    if (replacing || !byIndex.has(write.idx)) byIndex.set(write.idx, write);
  }
  const kept = [...byIndex.values()].toSorted((one, other) => one.idx - other.idx);
  const regular = kept.filter(({ idx }) => idx >= 0);
  const special = kept.filter(({ idx }) => idx < 0).map((write) => [write]);
  const groups = regular.length === 0 ? special : [...special, regular];
  return groups.map((group) => ({ idx: group[0]!.idx, body: packWrites(group, taskPath) }));
}

type WriteHead = readonly [idx: number, channel: string, type: string | null, bytes: number];

/**
 * Four bytes with the length of the head, the head as JSON, and the bytes of the writes one after the other; packed. The
 * head is a list of the writes, with the task's path before them where it has one.
 */
function packWrites(writes: readonly DumpedWrite[], taskPath: string): Buffer {
  const heads = writes.map(({ idx, channel, type, blob }): WriteHead => [
    idx,
    channel,
    type,
    blob.byteLength,
  ]);
  const head = Buffer.from(JSON.stringify(taskPath === "" ? heads : [taskPath, ...heads]), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.byteLength);
  const bytes = Buffer.concat([length, head, ...writes.map(({ blob }) => blob)]);
  return pack(bytes, { text: writes.every(({ type }) => type === null) });
}

/** Takes apart what {@link toWriteSets} made; for bytes whose hash was checked. */
export function unpackWrites(body: Buffer): {
  readonly taskPath: string;
  readonly writes: DumpedWrite[];
} {
  const bytes = unpack(body);
  const start = 4 + bytes.readUInt32BE(0);
  const head = JSON.parse(bytes.subarray(4, start).toString("utf8")) as readonly (
    | WriteHead
    | string
  )[];
  const taskPath = typeof head[0] === "string" ? head[0] : "";
  const heads = head.filter((write) => typeof write !== "string");
  let at = start;
  const writes = heads.map(([idx, channel, type, length]) => {
    const blob = bytes.subarray(at, at + length);
    at += length;
    return { idx, channel, type, blob };
  });
  return { taskPath, writes };
}
