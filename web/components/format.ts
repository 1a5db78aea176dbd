const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count: exact below 10,000, then as `12.3K`. */
export function formatCount(count: number): string {
  return count < 10_000 ? whole.format(count) : short.format(count);
}

/** Dollars: more digits the less it is. An em dash for an unknown price. */
export function formatCost(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return "–";
  if (dollars === 0) return "$0";
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(dollars < 1 ? 3 : 2)}`;
}

/** Milliseconds as people say them: `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 2 min`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** Bytes, as `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** How long ago a time was, or how far ahead it is. */
export function formatAgo(iso: string, now = Date.now()): string {
  const ms = Date.parse(iso) - now;
  // States that were edited may have any text as a time.
  if (Number.isNaN(ms)) return "–";
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["second", 1_000];
  return relative.format(Math.trunc(ms / size), unit);
}
