import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Pool } from "pg";
import { openCheckpointer } from "../../../checkpointers/postgres.ts";
import { definePlanner } from "../../../src/index.ts";
import type { TestDatabase } from "../../helpers/databases.ts";
import { codeWorker, plannerReplies } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";

/** Threads of one database, each gone on with by as many runtimes as a test likes. */
export class PlanningThreads {
  #count = 0;

  constructor(private readonly database: TestDatabase) {}

  /** A new thread, in a runtime of its own. */
  begin(script?: readonly ScriptedReply[]) {
    return this.at(`plan ${(this.#count += 1)}`, script);
  }

  /** Another runtime for a thread. */
  async at(
    threadId: string,
    script: readonly ScriptedReply[] = plannerReplies(),
    saver?: BaseCheckpointSaver,
  ) {
    const checkpointer = saver ?? (await openCheckpointer(this.database.shared));
    const test = await testRuntime(script, { checkpointer });
    const { runtime, onEvent } = test;
    return {
      ...test,
      threadId,
      /** What `executeAgent` takes to run the thread here. */
      run: { runtime, threadId, onEvent },
      /** What is stored of its first plan. */
      subtasks: async () => (await runtime.threads.plans(threadId))[0]?.subtasks ?? {},
    };
  }

  /** LangGraph's own saver for the database, and its threads. */
  async stock(): Promise<BaseCheckpointSaver> {
    // It uses the members of a pg.Pool that our pool has.
    const saver = new PostgresSaver(this.database.shared.pool as unknown as Pool, undefined, {
      schema: "langgraph_stock",
    });
    await saver.setup();
    return saver;
  }
}

type PlannerOptions = Partial<Parameters<typeof definePlanner>[0]>;

/** The worker `w`, which keeps a log of what it does, and a planner of it. */
export function loggedWork({ workers = [], ...options }: PlannerOptions = {}) {
  const log = new WorkLog();
  /** Ids of subtasks that never end, as in a process that is gone. */
  const hang = new Set<string>();
  /** Ids of subtasks that fail. */
  const fail = new Set<string>();
  const worker = codeWorker(({ id, results }) => {
    log.begin(id);
    if (hang.has(id)) return new Promise(() => {});
    if (fail.has(id)) throw new Error(`${id} is broken`);
    return { of: id, from: Object.keys(results) };
  });
  const planner = definePlanner({
    execution_config: { max_attempts: 1 },
    workers: [worker, ...workers],
    ...options,
  });
  return { log, hang, fail, worker, planner };
}

/** Ids of subtasks as they are begun, whoever runs them. */
class WorkLog {
  readonly begun: string[] = [];
  readonly #watching = new Set<() => void>();

  begin(id: string): void {
    this.begun.push(id);
    for (const look of this.#watching) look();
  }

  /** Resolves when this one was begun: then all that it depends on is stored. */
  began(id: string): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.begun.includes(id)) return;
        this.#watching.delete(look);
        resolve();
      };
      this.#watching.add(look);
      look();
    });
  }
}
