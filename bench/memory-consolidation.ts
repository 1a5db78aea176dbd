/**
 * What a memory grows to, and how well it still answers, with and without consolidation after every session. Sessions are
 * made up, search is by words, and the clock moves by eight hours from one session to the next.
 *
 * npx tsx bench/memory-consolidation.ts [--sessions 1000] [--seed 1] [--every 100]
 */
import { parseArgs } from "node:util";
import {
  runSessions,
  type RunSessionsOptions,
  type SessionsReport,
} from "./consolidation/run-sessions.ts";
import { percent, printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    sessions: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    every: { type: "string", default: "100" },
  },
});

const ways: Readonly<Record<string, Pick<RunSessionsOptions, "consolidation" | "extractsFacts">>> =
  {
    "nothing is consolidated": { consolidation: null, extractsFacts: false },
    "short-term entries alone": { consolidation: {}, extractsFacts: false },
    "facts extracted, nothing is consolidated": { consolidation: null, extractsFacts: true },
    "facts extracted as semantic entries": { consolidation: {}, extractsFacts: true },
  };

const last: string[][] = [];
for (const [name, way] of Object.entries(ways)) {
  const rows: string[][] = [];
  const run = {
    sessions: Number(options.sessions),
    seed: Number(options.seed),
    every: Number(options.every),
  };
  for await (const report of runSessions({ ...run, ...way })) rows.push(rowOf(report));
  console.log(`\n${name}\n`);
  printTable(["sessions", ...columns()], rows);
  last.push([name, ...(rows.at(-1) ?? []).slice(1)]);
}
console.log(`\nafter ${options.sessions} sessions\n`);
printTable(["", ...columns()], last);

function columns(): string[] {
  return [
    "short-term",
    "long-term",
    "archived",
    "merged",
    "tokens",
    "recall@5",
    "asked before",
    "ms a search",
  ];
}

function rowOf(report: SessionsReport): string[] {
  const { shortTerm, longTerm, archived, merged, tokens, recall, recallOfRepeated } = report;
  return [
    ...[report.sessions, shortTerm, longTerm, archived, merged, tokens].map((count) =>
      count.toLocaleString("en"),
    ),
    ...[recall, recallOfRepeated].map((share) => (share === null ? "–" : percent(share))),
    report.msPerSearch.toFixed(1),
  ];
}
