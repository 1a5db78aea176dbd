import { type Call, refusal } from "./call.ts";

const threadId = "7f1ad44c-0d6a-4a5c-9d4e-2f1a3c5b7e90";

export const threadCalls: readonly Call[] = [
  {
    name: "threads.create",
    same: "value",
    differs: ["+ .interrupts", "+ .values"],
    call: ({ threads }) => threads.create(),
  },
  {
    name: "threads.create with an id, once",
    same: "value",
    differs: ["+ [].interrupts", "+ [].values"],
    call: async ({ threads }) => [
      await threads.create({ threadId, metadata: { owner: "ada" }, graphId: "letters" }),
      await refusal(threads.create({ threadId })),
      await threads.create({ threadId, ifExists: "do_nothing" }),
      await threads.get(threadId),
    ],
  },
  {
    name: "threads.get of none",
    same: "value",
    call: async ({ threads }) => [
      await refusal(threads.get("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.getState("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.getHistory("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.update("00000000-0000-4000-8000-000000000000", { metadata: {} })),
      await refusal(threads.delete("00000000-0000-4000-8000-000000000000")),
    ],
  },
  {
    name: "threads.update",
    same: "value",
    differs: ["+ .interrupts", "+ .values"],
    call: async ({ threads }) =>
      threads.update(threadId, { metadata: { tags: ["a"], owner: "bo" } }),
  },
  {
    name: "threads.search",
    same: "value",
    differs: ["+ [][].interrupts", "+ [][].values"],
    call: async ({ threads }) => [
      await threads.search({ metadata: { owner: "bo" } }),
      await threads.search({ metadata: { owner: "ada" } }),
      await threads.search({ metadata: { tags: ["a"] }, status: "idle", select: ["thread_id"] }),
      await threads.search({ ids: [threadId], select: ["metadata", "status"] }),
      await threads.search({ status: "busy" }),
      await threads.count({ metadata: { owner: "bo" } }),
      await threads.count({ status: "error" }),
    ],
  },
  {
    name: "threads.getState and getHistory before a run",
    same: "value",
    call: async ({ threads }) => [
      await threads.getState(threadId),
      await threads.getHistory(threadId),
    ],
  },
  {
    name: "threads.create with a state",
    same: "shape",
    differs: ["+ [].interrupts", "+ [].metadata.assistant_id", "+ [].metadata.definition_hash"],
    call: async ({ threads }) => {
      const values = { input: { message: "Dear all" } };
      const made = await threads.create({
        graphId: "letters",
        supersteps: [{ updates: [{ values, asNode: "__start__" }] }],
      });
      return [await threads.get(made.thread_id), await threads.getState(made.thread_id)];
    },
  },
  {
    name: "threads.copy and delete",
    same: "value",
    call: async ({ threads }) => {
      const copy = await threads.copy(threadId);
      const read = await threads.get(copy.thread_id);
      await threads.delete(copy.thread_id);
      return [read.metadata, read.status, await refusal(threads.get(copy.thread_id))];
    },
  },
];
