import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import type { PostgresCluster } from "../postgres-cluster.ts";
import type { Random } from "../random.ts";
import type { useServerProcesses } from "../server-processes.ts";
import { chaosAgent } from "./agent.ts";
import { type ChaosSize, drawFaults, type Fault } from "./faults.ts";

type Servers = ReturnType<typeof useServerProcesses>;
type Worker = Awaited<ReturnType<Servers["startWorker"]>>;

/** Runs of a thread. */
const runsOfThread = 4;
/** Milliseconds between two looks at what is waited for. */
const lookMs = 15;
/** Milliseconds within which what was broken must continue. */
const patienceMs = 90_000;

export interface ChaosOptions {
  readonly size: ChaosSize;
  readonly random: Random;
  readonly servers: Servers;
  readonly cluster: PostgresCluster;
  /** Runs the statements of the test. Errors of idle sessions are ignored. */
  readonly pool: Pool;
  /** Whether leases of stopped workers end by themselves. Otherwise the test ends them at once. */
  readonly awaitsLeases: boolean;
}

/** A run that a worker held when it was killed. */
export interface Takeover {
  /** Milliseconds from the kill until another worker claimed it. */
  readonly claimedMs: number;
  /** Whether the server was restarted meanwhile. */
  readonly isDuringRestart: boolean;
}

export interface ChaosOutcome {
  /** Messages of runs that the API has accepted, by id of the run. */
  readonly accepted: ReadonlyMap<string, string>;
  readonly takeovers: readonly Takeover[];
  /** Ids of processes that were stopped for a while. */
  readonly stopped: ReadonlySet<number>;
  /** Workers that ended although no fault ended them. */
  readonly crashed: readonly string[];
  /** Sessions that were cut. */
  readonly sessions: number;
  /** Runs that stopped workers held, and that others continued. */
  readonly continued: number;
  /** Requests to create a run that were sent again. */
  readonly retries: number;
  readonly ms: number;
}

/**
 * Creates runs on many threads over HTTP, while workers are killed and stopped, sessions are cut and the server restarts.
 * Resolves when all runs have ended and all workers were asked to end.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  return new Chaos(options).run();
}

class Chaos {
  readonly #options: ChaosOptions;
  readonly #faults: Fault[];
  readonly #workers = new Set<Worker>();
  readonly #frozen = new Set<Worker>();
  /** Workers that a fault has ended, or the end of the test. */
  readonly #expected = new Set<Worker>();
  readonly #starting = new Set<Promise<void>>();
  readonly #background: Promise<void>[] = [];
  readonly #accepted = new Map<string, string>();
  readonly #takeovers: Takeover[] = [];
  readonly #stopped = new Set<number>();
  readonly #crashed: string[] = [];
  #created = 0;
  #restarts = 0;
  #sessions = 0;
  #continued = 0;
  #retries = 0;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#faults = [...drawFaults(options.size, options.random)];
  }

  async run(): Promise<ChaosOutcome> {
    const { size, servers } = this.#options;
    const from = performance.now();
    const front = await servers.start({ concurrency: 0 });
    const { id } = await front.post("/v1/agents", chaosAgent);
    await Promise.all(Array.from({ length: size.workers }, () => this.#start()));
    const path = `${front.url}/v1/agents/${String(id)}/runs`;
    const threads = Math.ceil(size.runs / runsOfThread);
    let next = 0;
    const lane = async () => {
      while (next < threads) await this.#createThread(path, (next += 1));
    };
    // Several threads for each worker, of which each has one run under way.
    const lanes = Array.from({ length: size.workers * 4 }, lane);
    await Promise.all([...lanes, this.#inject()]);
    await Promise.all([...this.#background, ...this.#starting]);
    await this.#until("all runs to end", async () => (await this.#open()) === 0);
    for (const worker of this.#workers) this.#expected.add(worker);
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    await front.stop();
    return {
      accepted: this.#accepted,
      takeovers: this.#takeovers,
      stopped: this.#stopped,
      crashed: this.#crashed,
      sessions: this.#sessions,
      continued: this.#continued,
      retries: this.#retries,
      ms: performance.now() - from,
    };
  }

  /** Queues the runs of a thread one after the other, and waits until they have ended. */
  async #createThread(path: string, thread: number): Promise<void> {
    const { runs } = this.#options.size;
    const ids: string[] = [];
    let threadId: string | undefined;
    for (let at = 0; at < runsOfThread && this.#created < runs; at += 1) {
      this.#created += 1;
      const message = `t${thread}r${at}`;
      const body = { input: { message }, ...(threadId !== undefined && { thread_id: threadId }) };
      const run = await this.#create(path, message, body);
      threadId = run.thread_id;
      ids.push(run.run_id);
      this.#accepted.set(run.run_id, message);
    }
    await this.#until(`runs of thread ${thread} to end`, async () => {
      const rows = await this.#query<{ open: number }>(
        `select count(*)::integer as open from stratagraph.run where id = any($1::uuid[]) and state in ('queued', 'running')`,
        [ids],
      );
      return rows?.[0]?.open === 0;
    });
  }

  /** Sends a request until it is answered, as a client does with a key. */
  async #create(path: string, message: string, body: object) {
    const headers = { "content-type": "application/json", "idempotency-key": message };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    for (const until = performance.now() + patienceMs; ;) {
      const response = await fetch(path, init);
      const answer: unknown = await response.json();
      if (response.ok) return answer as { readonly run_id: string; readonly thread_id: string };
      if (performance.now() > until)
        throw new Error(`Run ${message} was not created: ${JSON.stringify(answer)}`);
      this.#retries += 1;
      await delay(lookMs * 4);
    }
  }

  async #inject(): Promise<void> {
    for (const { kind, after } of this.#faults) {
      await this.#until(`fault after ${after} runs`, async () => {
        const ended = await this.#ended();
        return ended !== null && ended >= after;
      });
      switch (kind) {
        case "kill":
          await this.#kill();
          break;
        case "stop":
          await this.#stop();
          break;
        case "cut":
          await this.#cut();
          break;
        case "restart":
          await Promise.all(this.#starting);
          this.#restarts += 1;
          await this.#options.cluster.restart();
          this.#restarts += 1;
          break;
      }
    }
  }

  /** Chooses a worker that is up, while another one is up too. */
  async #victim(): Promise<Worker> {
    const awake = () => [...this.#workers].filter((worker) => !this.#frozen.has(worker));
    await this.#until("two workers", () => Promise.resolve(awake().length >= 2));
    const all = awake();
    return all[this.#options.random.int(0, all.length)]!;
  }

  async #start(): Promise<void> {
    const worker = await this.#options.servers.startWorker();
    this.#workers.add(worker);
    void this.#listen(worker);
  }

  /** Reads what a worker prints until it has ended. */
  async #listen(worker: Worker): Promise<void> {
    try {
      for (;;) await worker.nextEnd();
    } catch {
      this.#workers.delete(worker);
      if (!this.#expected.has(worker)) this.#crashed.push(worker.name);
    }
  }

  async #kill(): Promise<void> {
    const victim = await this.#victim();
    const from = performance.now();
    this.#expected.add(victim);
    this.#workers.delete(victim);
    await victim.kill();
    const held = await this.#heldBy(victim);
    this.#background.push(this.#watch(held, from));
    const starting = this.#start().finally(() => this.#starting.delete(starting));
    this.#starting.add(starting);
  }

  /** Measures how long runs of a worker that was killed stay without one. */
  async #watch(held: readonly HeldRun[], from: number): Promise<void> {
    const restarts = this.#restarts;
    const open = new Map(held.map(({ id, epoch }) => [id, epoch]));
    await this.#until("runs of a killed worker to be claimed", async () => {
      const rows = await this.#query<HeldRun & { state: string }>(
        `select id, epoch, state from stratagraph.run where id = any($1::uuid[])`,
        [[...open.keys()]],
      );
      const claimedMs = performance.now() - from;
      for (const { id, epoch, state } of rows ?? []) {
        if (epoch > open.get(id)!) {
          const isDuringRestart = restarts % 2 === 1 || restarts !== this.#restarts;
          this.#takeovers.push({ claimedMs, isDuringRestart });
          open.delete(id);
        } else if (state !== "queued" && state !== "running") open.delete(id);
      }
      return open.size === 0;
    });
  }

  async #stop(): Promise<void> {
    const victim = await this.#victim();
    victim.freeze();
    this.#frozen.add(victim);
    this.#stopped.add(victim.pid);
    this.#background.push(this.#holdStopped(victim));
  }

  /** Lets a stopped worker continue when others have its runs. */
  async #holdStopped(victim: Worker): Promise<void> {
    const held = await this.#heldBy(victim);
    const open = new Map(held.map(({ id, epoch }) => [id, epoch]));
    await this.#until("runs of a stopped worker to be continued", async () => {
      // As after 15 seconds. Rows that a statement of the worker has locked stay.
      if (!this.#options.awaitsLeases)
        await this.#query(
          `update stratagraph.run set lease_until = now() where id in (
            select id from stratagraph.run where worker = $1 and state = 'running' for update skip locked)`,
          [victim.name],
        );
      const rows = await this.#query<HeldRun & { state: string }>(
        `select id, epoch, state from stratagraph.run where id = any($1::uuid[])`,
        [[...open.keys()]],
      );
      for (const { id, epoch, state } of rows ?? []) {
        if (epoch > open.get(id)!) {
          this.#continued += 1;
          open.delete(id);
        } else if (state !== "queued" && state !== "running") open.delete(id);
      }
      return open.size === 0;
    });
    victim.thaw();
    this.#frozen.delete(victim);
  }

  /** Ends up to half of the sessions that are not of this test. */
  async #cut(): Promise<void> {
    await Promise.all(this.#starting);
    const rows = await this.#query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
        and application_name <> 'chaos' order by pid`,
      [],
    );
    const chosen = (rows ?? []).filter(() => this.#options.random() < 0.5);
    await this.#query(`select pg_terminate_backend(pid) from unnest($1::integer[]) as pid`, [
      chosen.map(({ pid }) => pid),
    ]);
    this.#sessions += chosen.length;
  }

  async #heldBy({ name }: Worker): Promise<readonly HeldRun[]> {
    let held: readonly HeldRun[] | null = null;
    await this.#until("the runs of a worker", async () => {
      held = await this.#query<HeldRun>(
        `select id, epoch from stratagraph.run where worker = $1 and state = 'running'`,
        [name],
      );
      return held !== null;
    });
    return held ?? [];
  }

  async #ended(): Promise<number | null> {
    const rows = await this.#query<{ ended: number }>(
      `select count(*)::integer as ended from stratagraph.run where ended_at is not null`,
      [],
    );
    return rows?.[0]?.ended ?? null;
  }

  async #open(): Promise<number | null> {
    const rows = await this.#query<{ open: number }>(
      `select count(*)::integer as open from stratagraph.run where state in ('queued', 'running')`,
      [],
    );
    return rows?.[0]?.open ?? null;
  }

  /** Null while the server does not answer. */
  async #query<Row extends object>(
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[] | null> {
    try {
      return (await this.#options.pool.query<Row>(text, [...values])).rows;
    } catch (error) {
      // A statement that is wrong fails on a server that answers.
      const { code = "" } = error as { readonly code?: string };
      if (/^(?:22|23|42)/.test(code)) throw error;
      return null;
    }
  }

  /** What the runs that have not ended wait for, as JSON. */
  async #openRuns(): Promise<string> {
    const rows = await this.#query(
      `select id, thread_id, seq, state, epoch, attempts, worker, lease_until - now() as lease, last_event
      from stratagraph.run where state in ('queued', 'running') order by created_at limit 20`,
      [],
    );
    const sessions = await this.#query(
      `select pid, state, wait_event, now() - state_change as since, left(query, 200) as query from pg_stat_activity
      where state <> 'idle' and application_name <> 'chaos'`,
      [],
    );
    const up = [...this.#workers].map(({ name }) => name);
    return JSON.stringify({ rows, sessions, up });
  }

  async #until(what: string, isReached: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + patienceMs;
    while (!(await isReached())) {
      if (performance.now() > end)
        throw new Error(
          `Waited ${patienceMs} ms for ${what}. Open runs: ${await this.#openRuns()}`,
        );
      await delay(lookMs);
    }
  }
}

interface HeldRun {
  readonly id: string;
  readonly epoch: number;
}
