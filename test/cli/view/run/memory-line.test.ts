import { describe, expect, it } from "vitest";
import { memoryLines } from "../../../../src/cli/view/run/memory-line.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { MemoryWritten, TurnMemories } from "../../../../src/state/turn.ts";

const style = createStyle(false);
const item = (id: string, tokens: number) => {
  return { id, type: "semantic", score: 1, tokens, why: {}, read_at: "" };
};

describe("the line of what a turn remembers", () => {
  const read = (memories: TurnMemories) => memoryLines({ type: "memory", memories }, 80, style);

  it("counts entries, tokens and what was left out", () => {
    const items = [item("a", 200), item("b", 12)];
    const dropped = [
      { id: "c", reason: "guardrail:injection" },
      { id: "d", reason: "budget" },
    ];
    expect(read({ items, dropped, took_ms: 3 })).toEqual([
      "memory  2 entries · 212 tokens · 1 blocked · 1 over the budget",
    ]);
  });

  it("is not there where nothing was found, and tells why it could not be", () => {
    const nothing = { items: [], dropped: [], took_ms: 0 };
    expect(read(nothing)).toEqual([]);
    expect(read({ ...nothing, error: "down\nnow" })).toEqual([
      "▲ the memory was not read: down now",
    ]);
  });
});

describe("the line of what a turn has left", () => {
  const written = (of: Partial<MemoryWritten>) => {
    const none = { short_term: 0, episodic: 0, semantic: 0, procedural: 0 };
    return memoryLines({ type: "memory_written", written: { ...none, ...of } }, 120, style);
  };

  it("counts entries by type, and what consolidation did", () => {
    expect(written({ short_term: 2, episodic: 1, semantic: 3 })).toEqual([
      "memory  wrote 2 short-term, 1 episodic, 3 semantic",
    ]);
    const consolidation = { consolidated: 4, merged: 0, evicted: 2, archived: 2 };
    expect(written({ procedural: 1, consolidation })).toEqual([
      "memory  wrote 1 procedural · consolidated 4, evicted 2, archived 2",
    ]);
  });

  it("is not there where nothing was written, and has the codes of errors", () => {
    expect(written({})).toEqual([]);
    expect(written({ errors: ["memory_timeout", "57P01"] })).toEqual([
      "▲ the memory was not written: memory_timeout, 57P01",
    ]);
  });
});
