/**
 * A run of an experiment with many cycles, on the offline model: does a cycle take longer, or the process more memory, the
 * more cycles there were? Every cycle writes, reads and lists memory, sends a message and reflects: six model calls and
 * four tool calls, twelve lines of the log and twelve checkpoints. Garbage is collected at a tenth of the cycles and at
 * the end, where node has `--expose-gc`.
 *
 *   npm run bench:experiment -- [--cycles 1000] [--on pglite,postgres] [--database postgres://…]
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime, defineExperiment, runExperiment } from "../src/index.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    cycles: { type: "string", default: "1000" },
    on: { type: "string", default: "postgres,pglite" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const cycles = Number(options.cycles);
const early = Math.round(cycles / 10);

const folder = await mkdtemp(join(tmpdir(), "stratagraph-bench-"));
try {
  for (const kind of options.on.split(",")) await measure(kind);
} finally {
  await rm(folder, { recursive: true, force: true });
}

function ratioOf([first = Number.NaN, last = Number.NaN]: readonly number[]): string {
  return `${(last / first).toFixed(2)} x`;
}

async function measure(kind: string): Promise<void> {
  const runtime = await createRuntime({
    env: {},
    ...(kind === "postgres"
      ? { databaseUrl: options.database }
      : { folder: join(folder, "database") }),
  });
  const ends: number[] = [];
  const sizes: number[] = [];
  /** Without garbage, at the early cycle and at the last. */
  const clean: { readonly rss: number; readonly heap: number }[] = [];
  const experiment = defineExperiment({
    run_id: `bench-${kind}`,
    model_name: "offline:rules",
    cycle_count: cycles,
    system_prompt: "You keep a diary of the weather.",
    cycle_prompt:
      'List the memory keys, then write "day ${cycle_number} was calm" to memory under the key day-${cycle_number % 50}, then read the memory key day-1, then send the operator the message "done".',
    reflection_prompt: "Say what you did in this cycle, without calling a tool.",
  });
  const { runs } = await runExperiment(experiment, {
    runtime,
    logFolder: join(folder, kind),
    fresh: true,
    onEvent(event) {
      if (event.type !== "cycle_end") return;
      ends.push(performance.now());
      sizes.push(process.memoryUsage.rss());
      if (ends.length !== early && ends.length !== cycles) return;
      globalThis.gc?.();
      const { rss, heapUsed } = process.memoryUsage();
      clean.push({ rss, heap: heapUsed });
    },
  });
  const [run] = runs;
  if (run?.status !== "done") throw new Error(`${kind}: ${run?.failure}`);
  const times = ends.slice(1).map((end, at) => end - (ends[at] ?? 0));
  // Garbage comes and goes: a hundredth of the run would be chance.
  const width = Math.round(cycles / 10);
  const around = (list: readonly number[], cycle: number) =>
    median(list.slice(Math.max(0, cycle - width / 2), cycle + width / 2));
  const [before, after] = [around(times, early), around(times, cycles - width / 2)];
  const [small, large] = [around(sizes, early), around(sizes, cycles - width / 2)];
  const log = await readFile(run.log);
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  console.log(
    `${kind.padEnd(9)} cycle ${early}: ${before.toFixed(1)} ms, ${mb(small)}; ` +
      `cycle ${cycles}: ${after.toFixed(1)} ms, ${mb(large)}; ` +
      `time ${(after / before).toFixed(2)} x, memory of the process ${(large / small).toFixed(2)} x ` +
      `(${ratioOf(clean.map(({ rss }) => rss))} without garbage, heap ${ratioOf(clean.map(({ heap }) => heap))}: ${clean.map(({ heap }) => mb(heap)).join(", ")}); ` +
      `greatest ${mb(Math.max(...sizes))}; log ${mb(log.length)}`,
  );
  await runtime.threads.delete(`experiment:bench-${kind}`);
  await runtime.experimentMemory.of(`bench-${kind}`).clear();
  await runtime.close();
}
