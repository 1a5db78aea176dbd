import type { Client } from "@langchain/langgraph-sdk";
import { type Call, refusal } from "./call.ts";

export const letter = { input: { input: { message: "Dear all" } } };
export const sum = { input: { input: { message: "What is 6 * 7?" } } };
const unknown = "00000000-0000-4000-8000-000000000000";

/** Runs a turn of `letters` on a new thread, which then waits for a person. */
async function waitingThread({ threads, runs }: Client): Promise<string> {
  const { thread_id: id } = await threads.create();
  await runs.wait(id, "letters", letter);
  return id;
}

export const runCalls: readonly Call[] = [
  {
    name: "runs.wait",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      return [await runs.wait(id, "clerk", sum), await threads.getState(id)];
    },
  },
  {
    name: "runs.wait on a thread that begins with it",
    same: "value",
    call: async ({ runs }) => [
      await refusal(runs.wait(unknown, "clerk", { ...sum, ifNotExists: "create" })),
    ],
  },
  {
    name: "runs.wait without a thread",
    same: "shape",
    call: ({ runs }) => runs.wait(null, "clerk", sum),
  },
  {
    name: "runs.wait of an unknown assistant",
    same: "value",
    call: async ({ runs }) => [
      await refusal(runs.wait(null, "nobody", sum)),
      await refusal(runs.wait(null, unknown, sum)),
    ],
  },
  {
    name: "runs.create, join, get, list and delete",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      const made = await runs.create(id, "clerk", { ...sum, metadata: { order: 1 } });
      const joined = await runs.join(id, made.run_id);
      const read = await runs.get(id, made.run_id);
      const listed = await runs.list(id);
      await runs.delete(id, made.run_id);
      return [made, joined, read, listed, await refusal(runs.get(id, made.run_id))];
    },
  },
  {
    name: "runs.createBatch",
    same: "shape",
    call: ({ runs }) =>
      runs.createBatch([
        { assistantId: "clerk", ...sum },
        { assistantId: "clerk", ...sum },
      ]),
  },
  {
    name: "an interrupt",
    same: "shape",
    call: async (client) => {
      const id = await waitingThread(client);
      const { threads, runs } = client;
      return {
        thread: await threads.get(id),
        state: await threads.getState(id),
        history: await threads.getHistory(id, { limit: 50 }),
        runs: await runs.list(id),
        found: await threads.search({ ids: [id], status: "interrupted" }),
      };
    },
  },
  {
    name: "an answer to an interrupt",
    same: "shape",
    call: async (client) => {
      const id = await waitingThread(client);
      const { threads, runs } = client;
      const values = await runs.wait(id, "letters", {
        command: { resume: { decision: "approve" } },
      });
      return [values, await threads.get(id), await threads.getHistory(id, { limit: 50 })];
    },
  },
  {
    name: "what an answered interrupt leaves",
    same: "value",
    call: async (client) => {
      const id = await waitingThread(client);
      await client.runs.wait(id, "letters", { command: { resume: { decision: "approve" } } });
      const { values, next, tasks } = await client.threads.getState<{ output: unknown }>(id);
      const { status } = await client.threads.get(id);
      return [values.output, next, tasks, status];
    },
  },
  {
    name: "interrupt_before, and a run without an input",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "clerk", { ...sum, interruptBefore: ["tools"] });
      const before = await threads.getState(id);
      const after = await runs.wait(id, "clerk", { input: null });
      return [before.next, after, (await threads.getState(id)).next];
    },
  },
  {
    name: "an update of a state",
    same: "shape",
    differs: ["+ [].configurable"],
    call: async (client) => {
      const id = await waitingThread(client);
      const values = { input: { message: "Dear both" } };
      const updated = await client.threads.updateState(id, { values, asNode: "write" });
      return [updated, (await client.threads.getState(id)).next];
    },
  },
  {
    name: "a state inside of an agent",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "office", letter);
      return threads.getState(id, undefined, { subgraphs: true });
    },
  },
  {
    name: "a run on a busy thread, and its cancelling",
    same: "value",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      const first = await runs.create(id, "clerk", { ...sum, afterSeconds: 3600 });
      const refused = await refusal(
        runs.wait(id, "clerk", { ...sum, multitaskStrategy: "reject" }),
      );
      const { status } = await threads.get(id);
      const listed = (await runs.list(id)).map((run) => run.status);
      await runs.cancel(id, first.run_id, true);
      return [first.status, refused, status, listed, (await threads.get(id)).status];
    },
  },
];
