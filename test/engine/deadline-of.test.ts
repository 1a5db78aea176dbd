import { expect, it } from "vitest";
import { deadlineOf } from "../../src/engine/run-results.ts";

const now = new Date("2026-01-01T00:00:00Z");
const waits = (...times: (string | null)[]) => ({
  status: "awaiting_human" as const,
  cause: null,
  requests: times.map((expires_at) => ({ expires_at }) as never),
  tool_calls: [],
});

it("takes the first deadline of requests and calls", () => {
  const calls = [{ expires_at: "2026-01-01T00:00:30.000Z" } as never];
  const result = { ...waits(null, "2026-01-01T00:01:00.000Z"), tool_calls: calls };
  expect(deadlineOf(result, now)).toBe("2026-01-01T00:00:30.000Z");
});

it("sets none for a run that has ended, or waits without a limit that can be reached", () => {
  const ended = { ...waits("2026-01-01T00:01:00.000Z"), status: "failed" as const };
  expect(deadlineOf(ended, now)).toBeNull();
  expect(deadlineOf(waits(null, "+275760-09-13T00:00:00.000Z", "soon"), now)).toBeNull();
});

it("tries again ten minutes after a refusal, and not at once", () => {
  const cause = { code: "definition_changed", message: "" };
  const refused = { ...waits("2025-12-31T00:00:00.000Z"), cause };
  expect(deadlineOf(refused, now)).toBe("2026-01-01T00:10:00.000Z");
});
