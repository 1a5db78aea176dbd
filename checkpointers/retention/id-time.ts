/** UUIDs of version 6, as LangGraph makes them, which tell when they were made. */
const TIMED = /^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-/;

/** Whether a checkpoint's id says that it was made before `time`; of other ids nobody can tell. */
export function isMadeBefore(id: string, time: Date): boolean {
  return TIMED.test(id) && id < firstIdAt(time);
}

/** What ids made at `time` start with; those made before sort before it. */
function firstIdAt(time: Date): string {
  // Version 6 counts 100 ns since the introduction of the Gregorian calendar, in 60 bits, the greatest first.
  const ticks = BigInt(time.getTime()) * 10_000n + 122_192_928_000_000_000n;
  const digits = ticks.toString(16).padStart(15, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-6${digits.slice(12)}`;
}
