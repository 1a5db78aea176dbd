import { Command, interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { beforeEach, describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import {
  compileAgent,
  defineAgent,
  defineTool,
  executeAgent,
  type ExecuteResult,
} from "../../src/index.ts";
import { createThreads } from "../../src/runtime/threads/create-threads.ts";
import type { Database } from "../../src/storage/database.ts";
import { lockThread } from "../../src/storage/thread-lock.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { collect } from "../helpers/collect.ts";
import { useDatabase } from "../helpers/databases.ts";
import { seededRandom } from "../helpers/random.ts";
import { testRuntime } from "../helpers/run-agent.ts";

/** Random races besides those that are named. */
const races = Number(process.env["ANSWER_RACES"] ?? 0);

/** Payments that were made. */
let paid: string[] = [];
/** What a payment waits for before it ends. */
let untilPaid: () => Promise<void>;

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input_schema: z.object({ to: z.string() }),
  requires_approval: true,
  // A second call is made then, and not only told as one whose outcome is unknown.
  execution: { idempotent: true },
  handler: async ({ to }) => {
    paid.push(to);
    await untilPaid();
    return `payment ${paid.length} to ${to}`;
  },
});

/** Waits for the approval of a call. */
const payer = defineAgent({
  name: "payer",
  tools: [pay],
  workflow_graph: {
    entry_point: "pay",
    nodes: [{ name: "pay", type: "tool", config: { tool: "pay", args: { to: "ada" } } }],
    edges: [
      { from: "pay", to: "END", condition: 'nodes.pay.outcome == "success"' },
      { from: "pay", to: "END" },
    ],
    output: { message: "${nodes.pay.outcome}" },
  },
});

/** Waits for the approval of a call, whose tool asks then. */
const booker = defineAgent({
  name: "booker",
  tools: [
    defineTool({
      name: "book",
      description: "Books a table.",
      input_schema: z.object({}),
      requires_approval: true,
      handler: () => `table for ${interrupt<string, string>("For how many?")}`,
    }),
  ],
  workflow_graph: {
    entry_point: "book",
    nodes: [{ name: "book", type: "tool", config: { tool: "book" } }],
    edges: [{ from: "book", to: "END" }],
    output: { message: "${nodes.book.result}" },
  },
});

/** Has the one that waits inside of it. */
const hotel = defineAgent({
  name: "hotel",
  agents: [booker],
  workflow_graph: {
    entry_point: "dinner",
    nodes: [{ name: "dinner", type: "agent", config: { agent: "booker" } }],
    edges: [{ from: "dinner", to: "END" }],
  },
});

/** Waits for an approval that is given by itself after a minute. */
const timed = defineAgent({
  name: "timed",
  tools: [{ ...pay, definition: { ...pay.definition, requires_approval: false } }],
  workflow_graph: {
    entry_point: "allow",
    nodes: [
      {
        name: "allow",
        type: "human",
        config: { kind: "approval", timeout_seconds: 60, on_timeout: "approve" },
      },
      { name: "pay", type: "tool", config: { tool: "pay", args: { to: "ada" } } },
    ],
    edges: [
      { from: "allow", to: "pay", condition: "nodes.allow.approved" },
      { from: "allow", to: "END" },
      { from: "pay", to: "END" },
    ],
    output: { message: "${string(nodes.allow.approved)}" },
  },
});

type Agent = typeof payer;

function resultsOf({ steps }: Pick<ExecuteResult, "steps">): readonly unknown[] {
  return steps.flatMap((step) => step.tool_results.map(({ result }) => result));
}

/** One of several that do something with a thread at once. */
interface Racer {
  readonly does: "approve" | "reject" | "cancel" | "edit" | "delete" | "time";
  /** Through a compiled graph, as a server does, and not `executeAgent`. */
  readonly by?: "graph";
  readonly process: 0 | 1;
}

/** How each of them is refused that comes too late. */
const refusals: readonly string[] = [
  "thread_busy",
  "thread_locked",
  "nothing_to_answer",
  "unknown_interrupt",
  "nothing_to_resume",
];

const named: readonly (readonly [Racer, Racer])[] = [
  [approves(0), rejects(1)],
  [approves(0, "graph"), approves(0, "graph")],
  [approves(0, "graph"), rejects(1, "graph")],
  [rejects(0, "graph"), approves(1)],
  [approves(0), { does: "cancel", process: 1 }],
  [approves(1, "graph"), { does: "edit", by: "graph", process: 0 }],
  [approves(0, "graph"), { does: "delete", process: 1 }],
  [rejects(0), { does: "time", process: 1 }],
];

function approves(process: 0 | 1, by?: "graph"): Racer {
  return { does: "approve", process, ...(by && { by }) };
}

function rejects(process: 0 | 1, by?: "graph"): Racer {
  return { does: "reject", process, ...(by && { by }) };
}

/** What approvals hold against: answers at once, forks and replays, on any database that keeps threads. */
export function approvalsContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  let threadId = "";
  let threadsMade = 0;

  function beginThread(): void {
    threadId = `thread ${(threadsMade += 1)}`;
    paid = [];
    untilPaid = async () => undefined;
  }

  /** A runtime as another process has it; of an embedded database there is one process. */
  async function processOn(opened: Database) {
    const { runtime, clock } = await testRuntime([], {
      checkpointer: await openCheckpointer(opened),
    });
    const services = {
      ...runtime,
      journal: new DatabaseToolJournal(opened.pool),
      lockThread: (id: string) => lockThread(opened, id),
    };
    const threads = createThreads({
      run: services,
      noCheckpoint: (id) => Object.assign(new Error(id), { code: "no_checkpoint" }),
    });
    return { runtime: { ...services, threads }, clock };
  }

  type Process = Awaited<ReturnType<typeof processOn>>;
  let processes: readonly [Process, Process];

  beforeEach(async () => {
    if (!database.available) return;
    beginThread();
    processes ??= [
      await processOn(database.shared),
      await processOn(kind === "postgres" ? await database.open() : database.shared),
    ];
  });

  const run = (agent: Agent, options: object = {}) =>
    executeAgent(agent, null, { runtime: processes[0].runtime, threadId, ...options });

  async function waiting(agent: Agent) {
    const { runtime } = processes[0];
    const { interrupts } = await executeAgent(agent, { message: "go" }, { runtime, threadId });
    return interrupts[0]!.id;
  }

  async function start(agent: Agent, id: string, { does, by, process }: Racer): Promise<unknown> {
    const { runtime } = processes[process];
    const answers = { [id]: does === "approve" };
    const thread = { configurable: { thread_id: threadId } };
    switch (does) {
      case "approve":
      case "reject":
        if (by === undefined) return run(agent, { runtime, answers });
        return (await compileAgent(agent, runtime)).invoke(
          new Command({ resume: answers }),
          thread,
        );
      case "time":
        return run(agent, { runtime });
      case "cancel":
        return run(agent, { runtime, signal: AbortSignal.abort() });
      case "edit":
        return (await compileAgent(agent, runtime)).updateState(thread, { execution: { n: 1 } });
      case "delete":
        return runtime.threads.delete(threadId);
    }
  }

  /**
   * Lets them all begin at once, and looks at what is stored then.
   * @returns what those have done that have decided what becomes of the thread
   */
  async function race(
    racers: readonly Racer[],
    delays: readonly number[] = [],
  ): Promise<readonly Racer["does"][]> {
    beginThread();
    const agent = racers.some(({ does }) => does === "time") ? timed : payer;
    const id = await waiting(agent);
    for (const { clock } of processes) clock.advance(60_000);
    let open = () => {};
    const isOpen = new Promise<void>((resolve) => (open = resolve));
    untilPaid = async () => {
      if (paid.length > 1) open();
      await isOpen;
    };
    const ends = await Promise.allSettled(
      racers.map(async (racer, index) => {
        for (let turns = delays[index] ?? 0; turns > 0; turns -= 1) {
          await new Promise(setImmediate);
        }
        return start(agent, id, racer).finally(open);
      }),
    );
    const refused = ends.filter((end) => end.status === "rejected");
    const codes = refused.map(({ reason }) => (reason as { code?: unknown }).code);
    expect(codes.filter((code) => !refusals.includes(String(code)))).toEqual([]);
    const through = racers.filter((_, index) => ends[index]!.status === "fulfilled");
    const ended = through.filter(({ does }) => does !== "edit" && does !== "delete");
    expect(through).not.toEqual([]);
    const [winner] = ended;
    // An answer that comes too late is none.
    const isPaid = winner?.does === "approve" || agent === timed;
    expect(paid).toEqual(isPaid ? ["ada"] : []);
    const decided = ended.map(({ does }) => does);
    if (through.some(({ does }) => does === "delete")) return decided;

    const { threads } = processes[1].runtime;
    const { items } = await threads.history(threadId);
    const nodes = items.flatMap((item) => item.nodes);
    expect(nodes).toEqual([...new Set(nodes)]);
    const { values } = await threads.stateAt({ threadId });
    const statuses = { cancel: "CANCELLED", edit: "AWAITING_HUMAN" } as const;
    const { does = "edit" } = winner ?? {};
    expect(values["status"]).toBe(does in statuses ? statuses[does as "edit"] : "COMPLETED");
    expect((await threads.verify(threadId)).damaged).toEqual([]);
    return decided;
  }

  describe.skipIf(!database.available)(`a request on ${kind}`, () => {
    it("takes one answer of several that are given at once, and refuses the others", async () => {
      for (const racers of named) {
        expect((await race(racers)).length).toBeLessThanOrEqual(1);
      }
    });

    it.runIf(races > 0)("takes one of any that come at any time", { timeout: 0 }, async () => {
      const random = seededRandom(`answers on ${kind}`);
      const all = named.flat().filter(({ does }) => does !== "cancel" && does !== "time");
      for (let left = races; left > 0; left -= 1) {
        const count = random.int(2, 5);
        const racers = Array.from({ length: count }, () => all[random.int(0, all.length)]!);
        const delays = racers.map(() => random.int(0, 60));
        expect((await race(racers, delays)).length).toBeLessThanOrEqual(1);
      }
    });

    it("is made again where a fork or a replay makes its call again", async () => {
      const { runtime } = processes[0];
      const id = await waiting(payer);
      await run(payer, { answers: { [id]: true } });
      const { items } = await runtime.threads.history(threadId);
      const at = (node: string) => items.find(({ nodes }) => nodes.includes(node))!.id;
      const again = {
        fork: async (checkpointId: string) => {
          const fork = await runtime.threads.fork({ threadId, checkpointId });
          return run(payer, { threadId: fork.threadId });
        },
        replay: async (checkpointId: string) =>
          runtime.threads.replay(payer, { threadId, checkpointId }),
      };
      for (const go of [again.fork, again.replay]) {
        const kept = await go(at("pay"));
        expect([kept.status, resultsOf(kept)]).toEqual(["COMPLETED", ["payment 1 to ada"]]);
        for (const node of ["initialize", "plan"]) {
          paid = ["ada"];
          const asked = await go(at(node));
          expect([asked.status, paid]).toEqual(["AWAITING_HUMAN", ["ada"]]);
          expect(asked.interrupts[0]!.kind).toBe("tool_approval");
          const done = await run(payer, { threadId: asked.threadId, answer: true });
          expect([done.status, resultsOf(done)]).toEqual(["COMPLETED", ["payment 2 to ada"]]);
        }
      }
    });

    it("is asked about again by LangGraph's own time travel, and then has the result it had", async () => {
      const id = await waiting(payer);
      await run(payer, { answers: { [id]: true } });
      const { runtime } = processes[0];
      const { items } = await runtime.threads.history(threadId);
      const checkpoint_id = items.find(({ nodes }) => nodes.includes("plan"))!.id;
      const graph = await compileAgent(payer, runtime);
      await graph.invoke(null, { configurable: { thread_id: threadId, checkpoint_id } });
      const { steps } = await run(payer, { answer: true });
      expect(steps[0]!.tool_results).toMatchObject([
        { result: "payment 1 to ada", recovered: "recorded" },
      ]);
      expect(paid).toEqual(["ada"]);
    });

    it("is answered in each fork on its own", async () => {
      const { threads } = processes[0].runtime;
      await waiting(payer);
      const forks = [await threads.fork({ threadId }), await threads.fork({ threadId })];
      const rejected = await run(payer, { answer: { decision: "reject", reason: "too much" } });
      expect(rejected.steps[0]!.tool_results[0]!.error).toContain("too much");
      const approved = await run(payer, { threadId: forks[0]!.threadId, answer: true });
      expect(resultsOf(approved)).toEqual(["payment 1 to ada"]);
      const { interrupts } = await run(payer, { threadId: forks[1]!.threadId });
      expect(interrupts).toHaveLength(1);
      expect(paid).toEqual(["ada"]);
    });

    it("waits for an answer of its own in a copy that is made while its call is under way", async () => {
      const { threads } = processes[0].runtime;
      const id = await waiting(payer);
      const copies: string[] = [];
      untilPaid = async () => {
        copies.push((await threads.fork({ threadId })).threadId);
        const lines = await collect(threads.export(threadId));
        copies.push((await threads.import(lines, { threadId: `${threadId} copied` })).threadId);
      };
      await run(payer, { answers: { [id]: true } });
      for (const copy of copies) {
        expect((await run(payer, { threadId: copy })).status).toBe("AWAITING_HUMAN");
      }
      expect(paid).toEqual(["ada"]);
    });

    it("is asked for again in a fork that is made in the middle of its call", async () => {
      const { threads } = processes[0].runtime;
      for (const agent of [booker, hotel]) {
        beginThread();
        await waiting(agent);
        await run(agent, { answer: true });
        const fork = await threads.fork({ threadId });
        const done = await run(agent, { answer: "four" });
        expect(done.output).toEqual({ message: "table for four" });
        const { interrupts } = await run(agent, { threadId: fork.threadId });
        expect(interrupts.map((one) => one.kind)).toEqual(["tool_approval"]);
      }
    });
  });
}
