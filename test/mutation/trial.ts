import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { applyFault } from "./faults.ts";
import { insertProbes, testsByFault, type Reached } from "./reach-probes.ts";
import type { SampledFault } from "./sample-faults.ts";
import {
  planBatches,
  relativeImports,
  timeLimit,
  type Nearness,
  type TestFile,
} from "./test-order.ts";
import { readLines, root, type WorkingCopy } from "./working-copy.ts";

export type Verdict =
  | { readonly status: "killed"; readonly by: string; readonly test: string }
  | { readonly status: "survived" | "not covered" };

/** What is known of the tests without a fault. */
export interface Reach {
  /** Milliseconds by test file; only files that pass. */
  readonly ms: ReadonlyMap<string, number>;
  readonly testsOf: (id: number) => readonly string[];
  /** Test files that fail without a fault, and so say nothing about one. */
  readonly failing: readonly string[];
}

/** Compiles the package and so would refuse a fault for its types; only what the tests find counts. */
const compilingTests = "test/e2e/package.test.ts";

/**
 * Runs the tests once with probes at the faults.
 * @param filters what vitest takes to choose test files; none for all of them
 */
export async function findReach(
  copy: WorkingCopy,
  sample: readonly SampledFault[],
  filters: readonly string[],
): Promise<Reach> {
  const paths = [...new Set(sample.map(({ path }) => path))];
  for (const path of paths) {
    const probes = sample.filter((fault) => fault.path === path);
    copy.write(path, insertProbes(copy.read(path), probes, copy.reachFile));
  }
  // A process for each test file: otherwise one file loads a module and the next finds it loaded.
  const isolated = ["--pool=forks", "--isolate", `--exclude=${compilingTests}`];
  const { files, output } = await copy.test([...isolated, ...filters]);
  for (const path of paths) copy.write(path, readFileSync(join(root, path), "utf8"));
  const passed = files.filter(({ ok }) => ok);
  if (passed.length === 0) throw new Error(`No test file passed without a fault:\n${output}`);
  const ms = new Map(passed.map(({ path, begin, end }) => [path, end - begin]));
  const tests = testsByFault(readLines<Reached>(copy.reachFile), files, copy.folder);
  return {
    ms,
    testsOf: (id) => [...(tests.get(id) ?? [])].filter((path) => ms.has(path)),
    failing: files.filter(({ ok }) => !ok).map(({ path }) => path),
  };
}

/**
 * Makes one fault and runs the tests that reach it until one fails.
 * @param budgetMs of all tests together, by what they take without a fault
 */
export async function tryFault(
  copy: WorkingCopy,
  { path, fault }: SampledFault,
  tests: readonly { readonly path: string; readonly ms: number }[],
  budgetMs: number,
): Promise<Verdict> {
  if (tests.length === 0) return { status: "not covered" };
  const original = copy.read(path);
  const batches = planBatches(
    tests.map((test) => ({ ...test, nearness: nearness(copy, test.path, path) })),
    budgetMs,
  );
  try {
    for (const batch of batches) {
      let left: readonly TestFile[] = batch;
      while (left.length > 0) {
        copy.write(path, applyFault(original, fault));
        const paths = left.map((file) => file.path);
        const { exitCode, files, output } = await copy.test(
          [...paths, "--bail=1"],
          timeLimit(left),
        );
        if (exitCode === 0) {
          const missed = paths.find((wanted) => files.every((ran) => ran.path !== wanted));
          if (missed === undefined) break;
          throw new Error(`vitest passed but did not run ${missed}:\n${output}`);
        }
        if (exitCode === undefined) return { status: "killed", by: "time limit", test: "" };
        const failed = files.find(({ ok }) => !ok);
        if (failed === undefined)
          return { status: "killed", by: "an error", test: lastLine(output) };
        copy.write(path, original);
        const { exitCode: withoutFault } = await copy.test([failed.path], timeLimit(left));
        if (withoutFault === 0) {
          return { status: "killed", by: failed.path, test: failed.failed ?? "" };
        }
        // A test that fails now and then: the others decide.
        left = left.filter((file) => file.path !== failed.path);
      }
    }
    return { status: "survived" };
  } finally {
    copy.write(path, original);
  }
}

function nearness(copy: WorkingCopy, test: string, path: string): Nearness {
  const mirrored = `test/${path.replace(/^src\//, "")}`;
  const isDirect =
    posix.dirname(test) === posix.dirname(mirrored) ||
    relativeImports(test, copy.read(test)).includes(path);
  if (isDirect) return "direct";
  const [, room] = mirrored.split("/");
  return test.startsWith(`test/${room}/`) ? "room" : "far";
}

function lastLine(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => /Error/.test(line))?.trim() ?? lines.at(-1) ?? "";
}
