import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

export interface LogEntry {
  readonly service: string;
  readonly time: string;
  readonly level: string;
  readonly component: string;
  readonly message: string;
}

export interface ParsedLogs {
  readonly lines: number;
  /** Lines that are neither an entry nor the continuation of one. */
  readonly unreadable: number;
  readonly entries: readonly LogEntry[];
}

const entryPattern = /^(\S+Z) (\w+)\s+\[([^\]]+)\] (.*)$/;

/** Reads every `*.log` of a folder. A line that begins with white space belongs to the entry before it. */
export async function parseLogs(folder: string): Promise<ParsedLogs> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".log")).toSorted();
  const entries: LogEntry[] = [];
  let lines = 0;
  let unreadable = 0;
  for (const file of files) {
    const text = await readFile(join(folder, file), "utf8");
    for (const line of text.split("\n").filter((one) => one !== "")) {
      lines += 1;
      const match = entryPattern.exec(line);
      if (match !== null) {
        const [, time = "", level = "", component = "", message = ""] = match;
        entries.push({ service: basename(file, ".log"), time, level, component, message });
      } else if (!/^\s/.test(line)) unreadable += 1;
    }
  }
  return { lines, unreadable, entries };
}

/** Errors of each service, most first. */
export function errorsByService(logs: ParsedLogs): { service: string; errors: number }[] {
  const counts = new Map<string, number>();
  for (const { service, level } of logs.entries) {
    if (level === "ERROR") counts.set(service, (counts.get(service) ?? 0) + 1);
  }
  return [...counts]
    .map(([service, errors]) => ({ service, errors }))
    .toSorted((a, b) => b.errors - a.errors);
}

/** The earliest error of a service. */
export function firstError(logs: ParsedLogs, service: string): LogEntry | undefined {
  return logs.entries
    .filter((entry) => entry.service === service && entry.level === "ERROR")
    .toSorted((a, b) => a.time.localeCompare(b.time))[0];
}

/** `payments 28, orders 16` */
export function describeErrors(logs: ParsedLogs): string {
  return errorsByService(logs)
    .map(({ service, errors }) => `${service} ${errors}`)
    .join(", ");
}
