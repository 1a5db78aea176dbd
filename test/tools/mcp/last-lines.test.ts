import { expect, it } from "vitest";
import { TailBuffer } from "../../../src/tools/mcp/stdio-transport.ts";

it("keeps the last 20 lines that say something", () => {
  const last = new TailBuffer();
  for (let line = 1; line <= 30; line += 1) last.push(`line ${line}\n\n`);
  last.push("and a ");
  last.push("half");
  expect(last.lines).toHaveLength(20);
  expect(last.lines.at(0)).toBe("line 12");
  expect(last.lines.at(-1)).toBe("and a half");
});

it("holds no more of a line than its first 500 characters", () => {
  const last = new TailBuffer();
  for (let chunk = 0; chunk < 100; chunk += 1) last.push("x".repeat(1_000));
  last.push("\nend\n");
  expect(last.lines).toEqual(["x".repeat(500), "end"]);
});
