import { describe, expect, it } from "vitest";
import { historyLines } from "../../../../src/cli/view/thread/history-lines.ts";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import type { CheckpointView } from "../../../../src/runtime/threads/threads.ts";

const style = createStyle(false);

function idOf(number: number): string {
  return `1f0c6b4a-${String(number).padStart(4, "0")}-6000-8000-2f0f5b7c3f11`;
}

/** Checkpoint `number` of a thread, made from the one before it. */
function checkpoint(number: number, differing: Partial<CheckpointView> = {}): CheckpointView {
  return {
    threadId: "t",
    namespace: "",
    id: idOf(number),
    parentId: number === 0 ? null : idOf(number - 1),
    step: number - 1,
    source: "loop",
    nodes: ["reason"],
    status: "EXECUTING",
    createdAt: `2026-03-04T05:06:${String(number).padStart(2, "0")}.000Z`,
    bytes: 400 + number,
    interrupts: 0,
    failures: 0,
    agent: null,
    definitionHash: null,
    integrityHash: null,
    forkedFrom: null,
    sequenceNum: number,
    trigger: "node",
    nodeOutcomes: { reason: "success" },
    ...differing,
  };
}

function lines(items: readonly CheckpointView[], width = 80, next: string | null = null): string[] {
  return historyLines({ items, next }, { width, style });
}

describe("the history of a thread", () => {
  it("is one line a checkpoint, with no tree where there are no branches", () => {
    const shown = lines([
      checkpoint(3, { trigger: "turn_complete", nodes: ["finalize"], status: "COMPLETED" }),
      checkpoint(2, { trigger: "tool_result", nodes: ["tools"], status: "AWAITING_TOOL" }),
      checkpoint(1),
      checkpoint(0, { trigger: "input", nodes: [], status: null }),
    ]);
    expect(shown).toEqual([
      "2026-03-04, times in UTC",
      "checkpoint     step  trigger   node      status          size  time",
      "1f0c6b4a-0003     2  turn end  finalize  COMPLETED      403 B  05:06:03",
      "1f0c6b4a-0002     1  tools     tools     AWAITING_TOOL  402 B  05:06:02",
      "1f0c6b4a-0001     0  node      reason    EXECUTING      401 B  05:06:01",
      "1f0c6b4a-0000    -1  input               –              400 B  05:06:00",
    ]);
  });

  it("draws branches, and says from where each but the first goes off", () => {
    const shown = lines([
      checkpoint(4, { parentId: idOf(1), trigger: "manual", nodes: ["ask"] }),
      checkpoint(3),
      checkpoint(2),
      checkpoint(1),
      checkpoint(0),
    ]);
    expect(shown.slice(1)).toEqual([
      "     checkpoint     step  trigger  node    status     time",
      "●    1f0c6b4a-0004     3  manual   ask     EXECUTING  05:06:04  from 1f0c6b4a-0…",
      "│ ●  1f0c6b4a-0003     2  node     reason  EXECUTING  05:06:03",
      "│ ○  1f0c6b4a-0002     1  node     reason  EXECUTING  05:06:02",
      "├─╯",
      "○    1f0c6b4a-0001     0  node     reason  EXECUTING  05:06:01",
      "○    1f0c6b4a-0000    -1  node     reason  EXECUTING  05:06:00",
    ]);
  });

  it("tells who waits and what failed, by name where names are known", () => {
    const shown = lines(
      [
        checkpoint(2, { interrupts: 2, nodeOutcomes: { a: "interrupted", b: "interrupted" } }),
        checkpoint(1, { failures: 1, nodeOutcomes: { reason: "failure" } }),
        checkpoint(0, { interrupts: 3, nodeOutcomes: {} }),
      ],
      120,
    );
    expect(shown.slice(2).map((line) => line.slice(line.indexOf("05:")))).toEqual([
      "05:06:02  ? a, b",
      "05:06:01  ✗ reason",
      "05:06:00  ? 3 requests",
    ]);
  });

  it("gives every day a line of its own where there are several", () => {
    const shown = lines([
      checkpoint(2, { createdAt: "2026-03-06T00:00:00.000Z" }),
      checkpoint(1),
      checkpoint(0),
    ]);
    expect(shown.map((line) => line.slice(0, 13).trim())).toEqual([
      "checkpoint",
      "2026-03-06",
      "1f0c6b4a-0002",
      "2026-03-04",
      "1f0c6b4a-0001",
      "1f0c6b4a-0000",
    ]);
  });

  it("shows the parent of a thread's first checkpoint that is a fork of another thread's", () => {
    const forked = [checkpoint(5, { parentId: idOf(4) })];
    expect(lines(forked, 120).at(-1)).toContain("from 1f0c6b4a-0004");
    expect(lines(forked, 120, "a cursor").at(-1)).not.toContain("from");
  });

  it("writes ids longer where they would be ambiguous", () => {
    const id = `${idOf(1).slice(0, -1)}2`;
    const shown = lines([checkpoint(1, { id }), checkpoint(1)], 160);
    expect(shown.slice(2).map((line) => /1f0c[-\w]+/.exec(line)?.[0])).toEqual([id, idOf(1)]);
  });

  it.each([80, 60, 44, 100])("fits into %i columns, whatever stands in it", (width) => {
    const shown = lines(
      [
        checkpoint(3, { parentId: idOf(1), nodes: ["日本語のノード", "another\u001B[2Jnode"] }),
        checkpoint(2, { status: "an unknown status that is\u0007 long", nodes: ["a"] }),
        checkpoint(1, {
          interrupts: 1,
          nodeOutcomes: { "a node with a long name": "interrupted" },
        }),
      ],
      width,
    );
    expect(shown.filter((line) => textWidth(line) > width)).toEqual([]);
    expect(shown.join("\n")).not.toMatch(/[^\P{Cc}\n]/u);
  });
});
