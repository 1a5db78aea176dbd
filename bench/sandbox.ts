/**
 * What a sandbox costs: the first run, which starts a thread and compiles QuickJS, runs on a warm thread, and code that
 * computes, each against calling the same function directly.
 *
 *   npx tsx bench/sandbox.ts [--repeats 7]
 */
import { parseArgs } from "node:util";
import { createSandbox } from "../src/tools/sandbox/create-sandbox.ts";
import { functionSource } from "../src/definition/function-source.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({ options: { repeats: { type: "string", default: "7" } } });
const repeats = Number(options.repeats);
const { signal } = new AbortController();

type Work = (input: { readonly n: number; readonly list: readonly number[] }) => unknown;

const add: Work = ({ n }) => n + 1;
const primes: Work = ({ n }) => {
  const isComposite = new Uint8Array(n);
  let count = 0;
  for (let at = 2; at < n; at += 1) {
    if (isComposite[at] === 1) continue;
    count += 1;
    for (let multiple = at * at; multiple < n; multiple += at) isComposite[multiple] = 1;
  }
  return count;
};
const echo: Work = ({ list }) => list;

const works: readonly (readonly [name: string, work: Work, n: number, length: number])[] = [
  ["adds one", add, 1, 0],
  ["returns a list of 1,000 numbers", echo, 0, 1_000],
  ["returns a list of 100,000 numbers", echo, 0, 100_000],
  ["counts the primes below 100,000", primes, 100_000, 0],
];

function sourceOf(work: Work): string {
  const found = functionSource(work);
  if (!found.ok) throw new Error(found.problem);
  return found.source;
}

/** Milliseconds of one call, the median of `count`, which stand for one repeat. */
async function timeOf(count: number, call: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return median(times);
}

const cold: number[] = [];
const sandbox = createSandbox({ workers: 1 });
const run = (work: Work, input: Parameters<Work>[0]) =>
  sandbox.run({ name: "bench", source: sourceOf(work), input, signal, timeoutMs: 30_000 });

for (let repeat = 0; repeat < repeats; repeat += 1) {
  await sandbox.close();
  cold.push(await timeOf(1, () => run(add, { n: 1, list: [] })));
}

const rows: string[][] = [["first run", `${median(cold).toFixed(0)} ms`, "", ""]];
for (const [name, work, n, length] of works) {
  const input = { n, list: Array.from({ length }, (_, at) => at) };
  const times = { direct: [] as number[], inSandbox: [] as number[] };
  for (let repeat = -1; repeat < repeats; repeat += 1) {
    const direct = await timeOf(20, () => work(input));
    const inSandbox = await timeOf(20, () => run(work, input));
    if (repeat < 0) continue;
    times.direct.push(direct);
    times.inSandbox.push(inSandbox);
  }
  const [direct, inSandbox] = [median(times.direct), median(times.inSandbox)];
  rows.push([
    name,
    `${inSandbox.toFixed(2)} ms`,
    `${direct.toFixed(3)} ms`,
    `+${(inSandbox - direct).toFixed(2)} ms`,
  ]);
}
await sandbox.close();
printTable(["", "sandbox", "directly", "difference"], rows);
console.log(`Medians of ${repeats} repeats of 20 calls each, one worker.`);
