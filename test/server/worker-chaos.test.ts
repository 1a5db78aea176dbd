import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { printTable } from "../../bench/helpers/table.ts";
import { createRuntime } from "../../src/app.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { hasPostgresPrograms, usePostgresClusters } from "../helpers/postgres-cluster.ts";
import { seededRandom, testSeed } from "../helpers/random.ts";
import { useServerProcesses } from "../helpers/server-processes.ts";
import { readEffects } from "../helpers/worker-chaos/agent.ts";
import { checkRuns } from "../helpers/worker-chaos/check-runs.ts";
import { runChaos, type ChaosOutcome } from "../helpers/worker-chaos/run-chaos.ts";

const env = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);

/** `npm run chaos:workers` sets the sizes of the long form. */
const isLong = process.env["RUNS"] !== undefined;
const size = {
  runs: env("RUNS", 60),
  workers: env("WORKERS", 2),
  kills: env("KILLS", 4),
  stops: env("STOPS", 1),
  cuts: env("CUTS", 2),
  restarts: env("RESTARTS", 1),
};

const clusters = usePostgresClusters();
let cluster: Awaited<ReturnType<typeof clusters>>;
const servers = useServerProcesses({
  get options() {
    return { url: cluster.url };
  },
});
const open: Pick<Database, "close">[] = [];
afterAll(() => Promise.all(open.splice(0).map((one) => one.close())));

/** Checks the checkpoints of all threads. */
async function damagedThreads(): Promise<readonly string[]> {
  const database = await openDatabase({ url: cluster.url });
  open.push(database);
  const { rows } = await database.pool.query<{ thread_id: string; tenant_id: string }>(
    `select distinct thread_id, tenant_id from stratagraph.run`,
  );
  const runtime = await createRuntime({ database, tenantId: rows[0]!.tenant_id });
  open.push(runtime);
  const damaged: string[] = [];
  for (const { thread_id: thread } of rows) {
    const verified = await runtime.threads.verify(thread);
    if (verified.damaged.length > 0)
      damaged.push(`Thread ${thread} has damaged checkpoints: ${JSON.stringify(verified.damaged)}`);
  }
  return damaged;
}

/** The share of the times that are at most as long as the result. */
function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}

/** Milliseconds of takeovers while the server was up. */
function takeoverTimes({ takeovers }: ChaosOutcome): readonly number[] {
  return takeovers.filter((one) => !one.isDuringRestart).map((one) => one.claimedMs);
}

function printOutcome(
  outcome: ChaosOutcome,
  { ends, repeated, unknown }: Awaited<ReturnType<typeof checkRuns>>,
): void {
  const { takeovers } = outcome;
  const times = takeoverTimes(outcome);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  printTable(
    [`seed ${testSeed}`, ""],
    [
      ...Object.entries(size).map(([name, count]) => [name, String(count)]),
      ["time", seconds(outcome.ms)],
      ...Object.entries(ends).map(([end, count]) => [`runs that ended as ${end}`, String(count)]),
      ["calls that were repeated", String(repeated)],
      ["calls of unknown outcome", String(unknown)],
      ["sessions that were cut", String(outcome.sessions)],
      ["requests that were sent again", String(outcome.retries)],
      ["runs that stopped workers held", String(outcome.continued)],
      ["runs that killed workers held", String(takeovers.length)],
      ["of these, during a restart", String(takeovers.length - times.length)],
      ["takeover, p50", seconds(quantile(times, 0.5))],
      ["takeover, p95", seconds(quantile(times, 0.95))],
      ["takeover, max", seconds(quantile(times, 1))],
    ],
  );
}

describe.skipIf(!hasPostgresPrograms)("workers that are killed, stopped and cut off", () => {
  it(
    "end each run once, in order, and repeat no finished call",
    { timeout: 120_000 + size.runs * 2_000 },
    async () => {
      cluster = await clusters();
      const pool = new pg.Pool({ connectionString: cluster.url, application_name: "chaos" });
      open.push({ close: () => pool.end() });
      pool.on("error", () => {}); // The server restarts.
      const outcome = await runChaos({
        size,
        random: seededRandom("worker-chaos"),
        servers,
        cluster,
        pool,
        awaitsLeases: isLong,
      });
      const report = await checkRuns(pool, outcome, readEffects(servers.letters()));
      if (isLong) printOutcome(outcome, report);
      const p95 = quantile(takeoverTimes(outcome), 0.95);
      const slow = isLong && p95 > 2_000 ? [`Takeovers took ${p95} ms at p95.`] : [];
      expect([...report.violations, ...(await damagedThreads()), ...slow]).toEqual([]);
    },
  );
});
