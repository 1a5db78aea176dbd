import { randomInt } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { getCheckpointId } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../src/errors.ts";
import { CheckpointConfigError, InvalidPageError } from "./errors.ts";

/** What a config says of where to read or write. */
export interface CheckpointKey {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | null;
}

/** @throws {CheckpointConfigError} */
export function parseCheckpointKey(config: RunnableConfig): CheckpointKey {
  const { thread_id: threadId, checkpoint_ns: namespace } = config.configurable ?? {};
  if (threadId === undefined || threadId === null) throw new CheckpointConfigError("thread_id");
  return {
    threadId: checkName("thread_id", String(threadId)),
    namespace: checkName("checkpoint_ns", String(namespace ?? "")),
    checkpointId: checkName("checkpoint_id", getCheckpointId(config)) || null,
  };
}

/** They stand together in an index, whose rows hold some 2,700 bytes. */
const MAX_BYTES = 850;
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** @throws {CheckpointConfigError} when no database can hold the name that a config has under `key` */
export function checkName(key: string, name: string): string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new CheckpointConfigError(key, problem);
  return name;
}

/** Why no database can hold a name, as part of a sentence. */
export function nameProblem(name: string): string | undefined {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_BYTES) return `it has ${bytes} bytes, more than ${MAX_BYTES}`;
  if (UNSTORABLE.test(name)) return "it holds a NUL character or half a surrogate pair";
  return undefined;
}

/** UUIDs of version 6, as LangGraph makes them, tell when they were made: in 100 ns since the Gregorian calendar began. */
const TIMED = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/;
const CALENDAR_BEGAN = -122_192_928_000_000_000n;

/** When an id was made, ISO 8601; null for ids that do not tell. */
export function uuidV6Timestamp(id: string): string | null {
  const digits = TIMED.exec(id);
  if (digits === null) return null;
  const ticks = BigInt(`0x${digits.slice(1).join("")}`) + CALENDAR_BEGAN;
  return new Date(Number(ticks / 10_000n)).toISOString();
}

/** A stored thread holds a channel version from which there is no counting on. */
export class ChannelVersionError extends StratagraphError {
  readonly code = "channel_version";
  override readonly kind = "run";

  constructor(readonly version: unknown) {
    super(
      `Expected a channel version that is an integer below 99999999 or starts with a counter, got ${JSON.stringify(version)}: no version can follow it.`,
    );
  }
}

const COUNTER_DIGITS = 16;
/** Puts the counter after every integer of up to eight digits, whether the two are compared as numbers or as text. */
const AFTER_INTEGERS = "99999999";
/** Bound of the random part; the greatest that `randomInt` takes, 48 bits. */
const RANDOM_BOUND = 2 ** 48 - 1;
const RANDOM_DIGITS = 15;

/**
 * The version that follows `current`: a counter padded with zeros, a point, and digits at random, as in
 * `0000000000000007.048301945027781`. The counter orders versions, since LangGraph compares them as text; the random
 * part keeps the branches of a fork, which count on from the same number, from ever sharing a version.
 *
 * Threads of the stock saver have integers. Their channels change one by one, so integers and our text live side by
 * side, and LangGraph compares such pairs sometimes as numbers and sometimes as text. The counter of such a thread continues
 * on at 9999999900000000, where both agree; the random part is decimal so that the whole reads as a number.
 *
 * @throws {ChannelVersionError} for text that does not start with digits, and past the last number of a width: 10^16
 *   versions, 10^8 in a thread that began with integers.
 */
export function nextChannelVersion(current: number | string | undefined): string {
  const random = randomInt(RANDOM_BOUND).toString().padStart(RANDOM_DIGITS, "0");
  return `${nextCounter(current)}.${random}`;
}

function nextCounter(current: number | string | undefined): string {
  if (current === undefined) return "1".padStart(COUNTER_DIGITS, "0");
  const [prefix, counter] =
    typeof current === "number"
      ? [
          AFTER_INTEGERS,
          String(Math.floor(current)).padStart(COUNTER_DIGITS - AFTER_INTEGERS.length, "0"),
        ]
      : ["", /^\d+/.exec(current)?.[0] ?? ""];
  if (!/^\d+$/.test(counter)) throw new ChannelVersionError(current);
  const next = (BigInt(counter) + 1n).toString().padStart(counter.length, "0");
  // One digit more would sort before what it follows.
  if (next.length > counter.length) throw new ChannelVersionError(current);
  return prefix + next;
}

/** Checks a cursor, which is made of ids. @throws {InvalidPageError} */
export function checkCursor(cursor: string | undefined): void {
  // Of two ids, each as long as may be, and a space between.
  const parts = cursor?.split(" ") ?? [];
  if (parts.some((part) => nameProblem(part) !== undefined)) {
    throw new InvalidPageError("cursor", cursor);
  }
}
