import { describe, expect, it } from "vitest";
import {
  findCheckpoint,
  parseReference,
  parseThreadReference,
} from "../../../src/cli/threads/open.ts";
import type { CheckpointView, Threads } from "../../../src/runtime/threads/threads.ts";

/** Two branches: a0 ‹ a1 ‹ a2 ‹ b1, and a1 ‹ c1 ‹ c2, the newest. */
const parents = {
  "1f0c6b4a-c200": "1f0c6b4a-c100",
  "1f0c6b4a-c100": "1f0c6b4a-a100",
  "1f0c6b4a-b100": "1f0c6b4a-a200",
  "1f0c6b4a-a200": "1f0c6b4a-a100",
  "1f0c6b4a-a100": "1f0c6b4a-a000",
  "1f0c6b4a-a000": null,
};
const items = Object.entries(parents).map(([id, parentId]) => ({ id, parentId }) as CheckpointView);

/** Gives two checkpoints a page. */
const threads: Pick<Threads, "history"> = {
  history: (_threadId, { cursor = "0" } = {}) => {
    const end = Number(cursor) + 2;
    const page = items.slice(Number(cursor), end);
    return Promise.resolve({ items: page, next: end < items.length ? String(end) : null });
  },
};

const find = (text: string) => findCheckpoint(threads, "t", parseReference(text));

describe("a reference to a checkpoint", () => {
  it.each([
    ["latest", "c200"],
    ["LATEST~", "c100"],
    ["latest~2", "a100"],
    ["latest~3", "a000"],
    ["1f0c6b4a-b100", "b100"],
    ["1F0C6B4A-B", "b100"],
    ["1f0c6b4a-b~1", "a200"],
    ["1f0c6b4a-b~3", "a000"],
    ["1f0c6b4a-a2~0", "a200"],
  ])("finds by %s", async (text, end) => {
    expect((await find(text)).id).toBe(`1f0c6b4a-${end}`);
  });

  it("is refused when several begin so, with what they are", async () => {
    await expect(find("1f0c6b4a-a")).rejects.toMatchObject({
      code: "ambiguous_checkpoint",
      kind: "usage",
      candidates: ["1f0c6b4a-a200", "1f0c6b4a-a100", "1f0c6b4a-a000"],
    });
    await expect(find("1")).rejects.toThrow("and 1 more. Give a longer prefix.");
  });

  it("is refused when none begins so, with the last that there are", async () => {
    await expect(find("1f0c6b4a-d")).rejects.toMatchObject({
      code: "unknown_checkpoint",
      kind: "usage",
      suggestions: ["1f0c6b4a-c200"],
    });
    await expect(find("1f0c6b4a-aff")).rejects.toMatchObject({
      message: expect.stringContaining("The latest are 1f0c6b4a-c200, 1f0c6b4a-c100"),
    });
  });

  it.each([
    ["latest~4", "there is only 3 before 1f0c6b4a-c200"],
    ["1f0c6b4a-a000~1", "there is no checkpoint before 1f0c6b4a-a000"],
  ])("is refused when it goes back too far: %s", async (text, problem) => {
    await expect(find(text)).rejects.toThrow(problem);
  });

  it.each(["", "~1", "a~b", "a~1~2", "a~9999999"])("is refused when it is %j", (text) => {
    expect(() => parseReference(text)).toThrow(
      expect.objectContaining({ code: "invalid_checkpoint" }),
    );
  });

  it("may be of another thread, whose id may have slashes", () => {
    expect(parseThreadReference("latest~1", "t").threadId).toBe("t");
    expect(parseThreadReference("a/b/1f0c~2", "t")).toEqual({
      threadId: "a/b",
      reference: { text: "1f0c~2", start: "1f0c", back: 2 },
    });
  });
});
