import { expect, it } from "vitest";
import { runSessions } from "../../../bench/consolidation/run-sessions.ts";
import { collect } from "../../helpers/collect.ts";

it("keeps 60 sessions small, finds extracted facts, and loses no entry", async () => {
  const run = { sessions: 60, every: 20, seed: 7, extractsFacts: true };
  const without = await collect(runSessions({ ...run, consolidation: null }));
  const reports = await collect(runSessions({ ...run, consolidation: {} }));
  // Three sessions of at most twelve entries each are younger than `minAgeHours`.
  expect(reports.map(({ shortTerm }) => shortTerm <= 3 * 12)).toEqual([true, true, true]);
  expect(reports.at(-1)?.tokens).toBeLessThan((without.at(-1)?.tokens ?? 0) / 2);
  for (const [at, report] of reports.entries()) {
    const { shortTerm, longTerm, archived, merged, recall } = report;
    const before = without[at];
    expect(shortTerm + longTerm + archived + merged).toBe(
      (before?.shortTerm ?? 0) + (before?.longTerm ?? 0),
    );
    expect(recall).toBeGreaterThanOrEqual(0.95 * (before?.recall ?? 1));
  }
});
