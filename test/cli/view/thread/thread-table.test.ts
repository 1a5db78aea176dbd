import { describe, expect, it } from "vitest";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import { threadTable } from "../../../../src/cli/view/thread/history-lines.ts";
import type { ThreadSummary } from "../../../../src/durable-saver.ts";

const now = new Date("2026-03-04T05:06:07.000Z");
const thread: ThreadSummary = {
  threadId: "chairs-1",
  checkpoints: 7,
  lastId: "1f0c6b4a-0007-6000-8000-2f0f5b7c3f11",
  updatedAt: "2026-03-04T05:01:00.000Z",
  status: "COMPLETED",
  agent: "buyer",
  bytes: 4321,
  definitionHash: null,
};

function table(threads: readonly ThreadSummary[], width: number, coloured = false): string[] {
  return threadTable(threads, { width, style: createStyle(coloured), now });
}

describe("the table of threads", () => {
  it("tells agent, status, checkpoints, size, and when each was updated", () => {
    const long = {
      ...thread,
      threadId: "0198f6d2-7c1e-7a54-9a33-b4e0c7a1d2f3",
      checkpoints: 1234,
      bytes: 12_345_678,
      status: "AWAITING_HUMAN",
      updatedAt: "2026-03-01T00:00:00.000Z",
    };
    expect(table([thread, long, { ...thread, agent: null, status: null }], Infinity)).toEqual([
      "thread                                agent  status          checkpoints    size     updated",
      "chairs-1                              buyer  COMPLETED                 7  4.3 kB   5 min ago  2026-03-04 05:01 UTC",
      "0198f6d2-7c1e-7a54-9a33-b4e0c7a1d2f3  buyer  AWAITING_HUMAN        1,234   12 MB  3 days ago  2026-03-01 00:00 UTC",
      "chairs-1                              –      –                         7  4.3 kB   5 min ago  2026-03-04 05:01 UTC",
    ]);
  });

  it.each([80, 60, 44])("fits into %i columns, whatever stands in it", (width) => {
    const odd = {
      ...thread,
      threadId: "日本語\u001B[2Jのとても長いスレッドの名前".repeat(3),
      agent: "エージェント\u001B[2J".repeat(5),
      status: "\u0007odd",
    };
    const lines = table([thread, odd], width);
    expect(lines.filter((line) => textWidth(line) > width)).toEqual([]);
    expect(lines.join("\n")).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it("colours a status by how it ended", () => {
    const lines = table([thread, { ...thread, status: "FAILED" }], 80, true).join("\n");
    expect(lines).toContain("\u001B[32mCOMPLETED\u001B[39m");
    expect(lines).toContain("\u001B[31mFAILED\u001B[39m");
  });
});
