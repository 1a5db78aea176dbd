import type {
  CallEntry,
  CallKey,
  CallRecord,
  RecordedEnd,
  ToolJournal,
} from "../../src/tools/journal.ts";

interface Entry {
  readonly input: string;
  end?: RecordedEnd;
}

/** A tool journal in memory, which outlives runtimes as a database would, and can be made to fail. */
export class MemoryJournal implements ToolJournal {
  readonly entries = new Map<string, Entry>();
  /** Thrown in place of the next one: as if the process had ended there. */
  failNext: { readonly at: "begin" | "end"; readonly error: Error } | null = null;
  /** What was asked for, in order. */
  readonly log: string[] = [];

  async begin(entry: CallEntry): Promise<CallRecord> {
    this.#failAt("begin");
    this.log.push(`begin ${entry.callId}`);
    const input = JSON.stringify([entry.tool, entry.input]);
    const known = this.entries.get(keyText(entry));
    if (known?.input !== input) {
      this.entries.set(keyText(entry), { input });
      return { state: "new" };
    }
    if (known.end !== undefined) return { state: "finished", end: structuredClone(known.end) };
    return { state: "started", at: "2026-01-01T00:00:00.000Z" };
  }

  async find(entry: CallEntry): Promise<CallRecord> {
    const known = this.entries.get(keyText(entry));
    if (known?.input !== JSON.stringify([entry.tool, entry.input])) return { state: "new" };
    if (known.end !== undefined) return { state: "finished", end: structuredClone(known.end) };
    return { state: "started", at: "2026-01-01T00:00:00.000Z" };
  }

  async end(key: CallKey, end: RecordedEnd): Promise<void> {
    this.#failAt("end");
    this.log.push(`end ${key.callId}`);
    const entry = this.entries.get(keyText(key));
    if (entry !== undefined) entry.end ??= structuredClone(end);
  }

  async withdraw(key: CallKey): Promise<void> {
    this.log.push(`withdraw ${key.callId}`);
    this.entries.delete(keyText(key));
  }

  #failAt(at: "begin" | "end"): void {
    if (this.failNext?.at !== at) return;
    const { error } = this.failNext;
    this.failNext = null;
    throw error;
  }
}

function keyText({ threadId, run, step, callId }: CallKey): string {
  return JSON.stringify([threadId, run, step, callId]);
}
