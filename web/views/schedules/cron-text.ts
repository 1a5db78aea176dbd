import { toString } from "cronstrue";

/** Names that stand for expressions. */
const names: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** Returns a cron expression in words, as `At 09:00, Monday through Friday`; null for one that it cannot read. */
export function cronText(expression: string): string | null {
  try {
    const trimmed = expression.trim();
    return toString(names[trimmed] ?? trimmed, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return null;
  }
}

/** Returns a time in a time zone, as `Mon 2 Mar 2026, 09:00 CET`. Zones that the browser lacks are shown as UTC. */
export function timeInZone(iso: string, timeZone: string): string {
  const options = {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  } as const;
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone }).format(new Date(iso));
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }).format(new Date(iso));
  }
}
