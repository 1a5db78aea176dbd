/**
 * Makes faults in the sources, one at a time, and counts those that the tests find. See README.md beside this file.
 *
 * npm run mutate -- [--count 60] [--seed 1] [--only src/state] [--tests test/state] [--list] [--mutant 7] [--budget 120] [--min 80]
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { percent, printTable } from "../../bench/helpers/table.ts";
import { listFaults } from "./faults.ts";
import { sampleFaults, type FileFaults, type SampledFault } from "./sample-faults.ts";
import { findReach, tryFault, type Verdict } from "./trial.ts";
import { root, WorkingCopy } from "./working-copy.ts";

const folders = [
  "src/compile/loop",
  "src/context",
  "src/state",
  "src/runtime",
  "checkpointers",
  "src/tools",
];

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    only: { type: "string", multiple: true, default: [] },
    tests: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    mutant: { type: "string" },
    budget: { type: "string", default: "120" },
    min: { type: "string" },
  },
});

const resultFile = join(root, "coverage/mutation.json");

interface Result {
  readonly id: number;
  readonly place: string;
  readonly folder: string;
  readonly kind: string;
  readonly change: string;
  readonly verdict: Verdict;
  readonly seconds: number;
  /** Those that reach it, with their milliseconds. */
  readonly tests: Readonly<Record<string, number>>;
}

const sample = sampleFaults(folders.flatMap(filesOf), {
  count: integer(options.count, "--count"),
  seed: integer(options.seed, "--seed"),
}).filter(({ id }) => options.mutant === undefined || id === Number(options.mutant));

if (sample.length === 0) {
  console.error("No fault is left: --only and --mutant choose none.");
  process.exitCode = 2;
} else if (options.list) {
  const rows = sample.map((fault) => [...rowOf(fault)]);
  printTable(["fault", "place", "kind", "change"], rows);
} else {
  await runTrial();
}

async function runTrial(): Promise<void> {
  const copy = new WorkingCopy();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // npm passes a signal on that the terminal sent here too: the second one must not end this.
    process.on(signal, () => {
      copy.remove();
      process.exit(130);
    });
  }
  try {
    const results: Result[] = [];
    const testsOf = await testsOfFaults(copy);
    for (const fault of sample) {
      const began = performance.now();
      const tests = testsOf(fault);
      const verdict = await tryFault(
        copy,
        fault,
        Object.entries(tests).map(([path, ms]) => ({ path, ms })),
        1000 * integer(options.budget, "--budget"),
      );
      const seconds = Math.round((performance.now() - began) / 1000);
      const [, place, kind, change] = rowOf(fault);
      const { id, folder } = fault;
      results.push({ id, place, folder, kind, change, verdict, seconds, tests });
      console.log(`${id} ${place}: ${wordsOf(verdict)} (${seconds} s)`);
      if (options.mutant === undefined) writeResults(results);
    }
    report(results);
  } finally {
    copy.remove();
  }
}

/** One mutant alone is run with what the last trial found out about it, if it did. */
async function testsOfFaults(
  copy: WorkingCopy,
): Promise<(fault: SampledFault) => Readonly<Record<string, number>>> {
  const [only] = sample;
  const earlier =
    options.mutant === undefined || only === undefined ? undefined : earlierResult(only);
  if (earlier !== undefined) return () => earlier.tests;
  console.log("Running the tests once without a fault, to see which of them reach which fault.");
  const { ms, testsOf, failing } = await findReach(copy, sample, options.tests);
  const sum = [...ms.values()].reduce((total, value) => total + value, 0);
  console.log(`${ms.size} test files pass, in ${Math.round(sum / 1000)} s in all.`);
  for (const path of failing) console.log(`Left out, since it fails without a fault: ${path}`);
  return ({ id }) => Object.fromEntries(testsOf(id).map((path) => [path, ms.get(path) ?? 0]));
}

function earlierResult(fault: SampledFault): Result | undefined {
  let text: string;
  try {
    text = readFileSync(resultFile, "utf8");
  } catch {
    return undefined;
  }
  const [, place, , change] = rowOf(fault);
  const earlier = JSON.parse(text) as {
    readonly options: { readonly tests: readonly string[] };
    readonly results: readonly Result[];
  };
  if (earlier.options.tests.join() !== options.tests.join()) return undefined;
  return earlier.results.find((result) => result.place === place && result.change === change);
}

function writeResults(results: readonly Result[]): void {
  mkdirSync(join(root, "coverage"), { recursive: true });
  const { count, seed, only, tests } = options;
  const found = { options: { count, seed, only, tests }, ...sharesOf(results), results };
  writeFileSync(resultFile, `${JSON.stringify(found, null, 2)}\n`);
}

function report(results: readonly Result[]): void {
  console.log();
  printTable(
    ["fault", "place", "kind", "change", "outcome"],
    results.map(({ id, place, kind, change, verdict }) => [
      String(id),
      place,
      kind,
      change,
      wordsOf(verdict),
    ]),
  );
  const { killed, byFolder } = sharesOf(results);
  console.log();
  printTable(
    ["folder", "faults", "killed", "share"],
    [...byFolder, { folder: "all", count: results.length, killed }].map((row) => [
      row.folder,
      String(row.count),
      String(row.killed),
      percent(row.killed / row.count),
    ]),
  );
  if (options.min !== undefined && (100 * killed) / results.length < Number(options.min)) {
    console.error(`Fewer than ${options.min} % of the faults were killed.`);
    process.exitCode = 1;
  }
}

function sharesOf(results: readonly Result[]) {
  const isKilled = ({ verdict }: Result) => verdict.status === "killed";
  const byFolder = folders
    .map((folder) => ({ folder, own: results.filter((result) => result.folder === folder) }))
    .filter(({ own }) => own.length > 0)
    .map(({ folder, own }) => ({
      folder,
      count: own.length,
      killed: own.filter(isKilled).length,
    }));
  return { count: results.length, killed: results.filter(isKilled).length, byFolder };
}

function wordsOf(verdict: Verdict): string {
  return verdict.status === "killed" ? `killed by ${verdict.by}` : verdict.status;
}

/** Number, place, kind and change of a fault. */
function rowOf({ id, path, fault }: SampledFault): [string, string, string, string] {
  const source = readFileSync(join(root, path), "utf8");
  const original = source.slice(fault.start, fault.end);
  const change = `${oneLine(original)} → ${oneLine(fault.replacement)}`;
  return [String(id), `${path}:${fault.line}`, fault.kind, change];
}

function oneLine(code: string): string {
  const line = code.replaceAll(/\s+/g, " ").trim();
  if (line === "") return "nothing";
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

function filesOf(folder: string): FileFaults[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts"))
    .filter(
      (path) =>
        options.only.length === 0 ||
        options.only.some(
          (part) => path === part || path.startsWith(`${part.replace(/\/$/, "")}/`),
        ),
    )
    .toSorted()
    .map((path) => ({ folder, path, faults: listFaults(readFileSync(join(root, path), "utf8")) }));
}

function integer(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${name} takes a whole number, not ${text}.`);
  }
  return value;
}
