/** UUIDs of version 6, as LangGraph makes them, tell when they were made: in 100 ns since the Gregorian calendar began. */
const TIMED = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/;
const CALENDAR_BEGAN = -122_192_928_000_000_000n;

/** When an id was made, ISO 8601; null for ids that do not tell. */
export function idTime(id: string): string | null {
  const digits = TIMED.exec(id);
  if (digits === null) return null;
  const ticks = BigInt(`0x${digits.slice(1).join("")}`) + CALENDAR_BEGAN;
  return new Date(Number(ticks / 10_000n)).toISOString();
}
