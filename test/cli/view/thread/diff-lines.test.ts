import { describe, expect, it } from "vitest";
import { diffLines } from "../../../../src/cli/view/thread/state-lines.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { ChannelDiff } from "../../../../src/runtime/threads/threads.ts";

const a = { threadId: "t", checkpointId: "one" };
const b = { threadId: "u", checkpointId: "two" };
const change = { path: "", before: null, after: null } as const;

function lines(channels: readonly ChannelDiff[], width = 80, coloured = false): string[] {
  return diffLines({ a, b, channels }, { width, style: createStyle(coloured) });
}

describe("the difference of two checkpoints", () => {
  it("is told channel by channel, with how much is left out", () => {
    const shown = lines([
      {
        channel: "execution",
        kind: "changed",
        changes: [
          { ...change, kind: "changed", text: "pieces: 4 → 5" },
          { ...change, kind: "added", text: 'note: added "in\u001B[2J oak"' },
        ],
        omitted: 0,
      },
      {
        channel: "output",
        kind: "added",
        changes: [{ ...change, kind: "added", text: 'added {"message":"Bought"}' }],
        omitted: 2,
      },
      { channel: "draft", kind: "removed", changes: [], omitted: 1 },
    ]);
    expect(shown).toEqual([
      "− t/one",
      "+ u/two",
      "",
      "~ execution",
      "  pieces: 4 → 5",
      '  note: added "in oak"',
      "",
      "+ output",
      '  added {"message":"Bought"}',
      "  … 2 further differences",
      "",
      "− draft",
      "  … 1 further difference",
    ]);
  });

  it("says that there is none", () => {
    expect(lines([])).toEqual(["− t/one", "+ u/two", "", "No differences."]);
  });

  it("is broken between words, further lines set in", () => {
    const text = "a: one two three four → five six";
    const changes = [{ ...change, kind: "changed", text }] as const;
    expect(lines([{ channel: "c", kind: "changed", changes, omitted: 0 }], 24).slice(4)).toEqual([
      "  a: one two three",
      "    four → five six",
    ]);
  });

  it("colours what came and what went", () => {
    const changes = [{ ...change, kind: "removed", text: "removed 1" }] as const;
    const shown = lines([{ channel: "c", kind: "removed", changes, omitted: 0 }], 80, true);
    expect(shown.slice(3)).toEqual([
      "\u001B[31m−\u001B[39m \u001B[1mc\u001B[22m",
      "  \u001B[31mremoved 1\u001B[39m",
    ]);
  });
});
