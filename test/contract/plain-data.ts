import { canonicalJson } from "../../src/values/json.ts";
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { PromptTemplate } from "@langchain/core/prompts";
import { emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toJsonb } from "../../checkpointers/checkpoint-body.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { anyRecordLike } from "../helpers/arbitrary-storable.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { encryptingSerde } from "../helpers/encrypting-serde.ts";
import { lookalikes } from "../helpers/lookalikes.ts";
import { contentDifference } from "../helpers/same-value.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";
import { stockSaver } from "../helpers/stock-saver.ts";

const stock = new MemorySaver().serde;
const channels = ["messages", "execution", "steps", "input", "__start__", "branch:to:node"];

/** As JSON has it: without minus zero. */
const anyJson = fc
  .oneof(
    fc.jsonValue({ stringUnit: anyCharacter }),
    anyRecordLike,
    fc.constantFrom(...Object.values(lookalikes)),
  )
  .map((value): unknown => JSON.parse(JSON.stringify(value)));

/** Messages with data in every place that a model or a tool fills. */
function messagesWith(data: unknown) {
  const fields = { content: "", additional_kwargs: { data }, response_metadata: { data } };
  return [
    new HumanMessage({ ...fields, content: [{ type: "text", text: "?", data }] }),
    new AIMessage({ ...fields, tool_calls: [{ id: "c", name: "find", args: { data } }] }),
    new ToolMessage({ ...fields, tool_call_id: "c", artifact: data }),
  ];
}

/** What LangGraph's serializer writes of the value, as an object that is stored so: without escapes. */
async function asStoredBefore(value: unknown): Promise<unknown> {
  const [, bytes] = await stock.dumpsTyped(value);
  const literally = (json: unknown): unknown => {
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) return json.map(literally);
    // An object that converts itself is not plain data.
    const entries = Object.entries(json).map(([key, inner]) => [key, literally(inner)] as const);
    return { toJSON: () => Object.fromEntries(entries) };
  };
  return literally(JSON.parse(Buffer.from(bytes).toString()));
}

/** Plain data is read as it was put, whatever record of a serializer it looks like. */
export function plainDataContract(database: TestDatabase): void {
  const at = (threadId: string) => ({ configurable: { thread_id: threadId, checkpoint_ns: "" } });

  async function put(
    saver: BaseCheckpointSaver,
    values: Record<string, unknown>,
    threadId: string = randomUUID(),
  ): Promise<string> {
    const versions = Object.fromEntries(
      Object.keys(values).map((channel) => [channel, saver.getNextVersion(undefined)]),
    );
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(0),
      channel_values: values,
      channel_versions: versions,
    };
    const metadata = { source: "loop" as const, step: 1, parents: {}, given: values["input"] };
    const config = await saver.put(at(threadId), checkpoint, metadata, versions);
    await saver.putWrites(config, Object.entries(values), "task");
    await saver.putWrites(config, [["__interrupt__", [{ value: values["input"] }]]], "other");
    return threadId;
  }

  /** What another process would read otherwise than it was put, in any way: values, writes or metadata; null for nothing. */
  async function differenceRead(
    saver: PostgresCheckpointer,
    threadId: string,
    values: Record<string, unknown>,
  ): Promise<string | null> {
    const config = at(threadId);
    for (const tuple of [await saver.getTuple(config), ...(await collect(saver.list(config)))]) {
      const { checkpoint, metadata, pendingWrites } = tuple!;
      const writes = pendingWrites!.filter(([task]) => task === "task");
      const interrupts = pendingWrites!.filter(([task]) => task === "other");
      const { given } = metadata as { given?: unknown };
      const difference =
        contentDifference(checkpoint.channel_values, values, "values") ??
        contentDifference(Object.fromEntries(writes.map(([, ...of]) => of)), values, "writes") ??
        contentDifference(interrupts[0]![2], [{ value: values["input"] }], "interrupt") ??
        // It stands in `jsonb`, which has an order of keys of its own, and cannot hold every text.
        (canonicalJson(given) === canonicalJson(toJsonb(values["input"])) ? null : "metadata");
      if (difference !== null) return difference;
    }
    return null;
  }

  const ofData = (data: unknown) => Object.fromEntries(channels.map((name) => [name, data]));

  describe.skipIf(!database.available)(`Plain data on ${database.kind}`, () => {
    const open = (options = {}) => new PostgresCheckpointer(database.shared.pool, options);
    const encrypting = encryptingSerde();

    for (const [name, data] of Object.entries(lookalikes)) {
      test(`that looks like ${name} is data in every channel and write`, async () => {
        const threadId = await put(open(), ofData(data));
        expect(await differenceRead(open(), threadId, ofData(data))).toBeNull();
        const large = ofData({
          data,
          list: Array.from({ length: 40 }, () => [data, "x".repeat(60)]),
        });
        expect(await differenceRead(open(), await put(open(), large), large)).toBeNull();
      });

      test(`that looks like ${name} is data in messages`, async () => {
        const messages = messagesWith(data);
        const threadId = await put(open(), { messages, input: null });
        expect(await differenceRead(open(), threadId, { messages, input: null })).toBeNull();
      });
    }

    test("that looks like any record is data in every place of a thread that is encrypted", async () => {
      const all = Object.values(lookalikes);
      const values = { ...ofData(all), messages: all.flatMap(messagesWith) };
      const options = { serde: encrypting };
      const threadId = await put(open(options), values);
      expect(await differenceRead(open(options), threadId, values)).toBeNull();
    });

    test.each([
      ["", {}],
      [", encrypted", { serde: encrypting }],
    ])("is read as it was put, whatever JSON it is%s", async (_kept, options) => {
      await fc.assert(
        fc.asyncProperty(anyJson, anyJson, async (one, other) => {
          const values = {
            ...ofData(one),
            messages: messagesWith(other),
            steps: Array.from({ length: 12 }, () => ({ one, other, text: "x".repeat(99) })),
          };
          expect(
            await differenceRead(open(options), await put(open(options), values), values),
          ).toBeNull();
        }),
        { numRuns: 30 },
      );
    });

    test("is read from the tool journal as it was written, whatever JSON it is", async () => {
      const journal = new DatabaseToolJournal(database.shared.pool, { serde: open().serde });
      let step = 0;
      await fc.assert(
        fc.asyncProperty(anyJson, async (result) => {
          const call = { threadId: "journal", run: "r", step: (step += 1), callId: "c" };
          const entry = { ...call, tool: "find", input: {}, idempotent: false };
          const end = { outcome: "success" as const, result, error: null, execution_time_ms: 1 };
          const tiers = { execution: { result }, attempt: [result] };
          await journal.begin(entry);
          await journal.end(entry, { ...end, tiers });
          const known = await journal.begin(entry);
          expect(
            contentDifference(known, { state: "finished", end: { ...end, tiers } }),
          ).toBeNull();
        }),
        { numRuns: 60 },
      );
    });

    test("nested deeper than LangChain's loader goes can be read in messages", async () => {
      const deep = JSON.parse("[".repeat(200) + "]".repeat(200)) as unknown;
      const messages = messagesWith(deep);
      const threadId = await put(open(), { messages, input: null });
      expect(await differenceRead(open(), threadId, { messages, input: null })).toBeNull();
    });

    test("stays beside objects that are revived", async () => {
      const data = lookalikes["a message with a secret"];
      const message = new HumanMessage({ id: "1", content: "?" });
      const prompt = PromptTemplate.fromTemplate("{x}");
      const values = {
        state: { message, data, set: new Set([data]), map: new Map([[data, message]]) },
        prompts: [prompt, data],
        nothing: { none: undefined, data },
        input: null,
      };
      const { checkpoint } = (await open().getTuple(at(await put(open(), values))))!;
      expect(checkpoint.channel_values).toEqual(values);
      expect(checkpoint.channel_values["prompts"]).toEqual([expect.any(PromptTemplate), data]);
    });

    test("is exported and imported as it is", async () => {
      const values = { ...ofData(Object.values(lookalikes)), messages: messagesWith(lookalikes) };
      const threadId = await put(open(), values);
      const lines = await collect(open().exportThread(threadId));
      const copy = randomUUID();
      await open().importThread(lines, { threadId: copy });
      expect(await differenceRead(open(), copy, values)).toBeNull();
    });

    test("of a thread that is forked stays as it is", async () => {
      const values = ofData(Object.values(lookalikes));
      const threadId = await put(open(), values);
      const { checkpoint } = (await open().getTuple(at(threadId)))!;
      const copy = randomUUID();
      await open().forkThread({ threadId, checkpointId: checkpoint.id, newThreadId: copy });
      const forked = (await open().getTuple(at(copy)))!;
      expect(forked.checkpoint.channel_values).toStrictEqual(values);
    });

    for (const [writer, before, stored] of [
      ["this saver", () => open(), asStoredBefore],
      ["the stock saver", () => stockSaver(database.shared.pool), async (value: unknown) => value],
    ] as const) {
      test(`stored by ${writer} before there were escapes does not stop a thread`, async () => {
        const messages = [
          new HumanMessage({ id: "1", content: "?" }),
          ...messagesWith(lookalikes["a message with a secret"]),
          ...messagesWith(lookalikes["an unknown class"]),
          ...messagesWith(lookalikes["undefined"]),
        ];
        const data = Object.fromEntries(
          ["a secret", "a prompt", "an unknown class", "an object not implemented"].map((name) => [
            name,
            lookalikes[name],
          ]),
        );
        const values = { messages, data, set: new Set([1]), none: [undefined], input: null };
        const old: [string, unknown][] = [];
        for (const [channel, value] of Object.entries(values)) {
          old.push([channel, await stored(value)]);
        }
        const threadId = await put(before(), Object.fromEntries(old));
        const [, bytes] = await open().serde.dumpsTyped(await asStoredBefore(values));
        expect(bytes).toEqual((await stock.dumpsTyped(values))[1]);
        const read = (await open().getTuple(at(threadId)))!;
        for (const [channel, value] of Object.entries(values)) {
          expect(
            contentDifference(read.checkpoint.channel_values[channel], value, channel),
          ).toBeNull();
        }
        const write = read.pendingWrites!.find(([, channel]) => channel === "messages");
        expect(contentDifference(write![2], messages)).toBeNull();
        const goingOn = { ...read.checkpoint.channel_values, input: lookalikes["a secret"] };
        await put(open(), goingOn, threadId);
        expect((await open().getTuple(at(threadId)))!.checkpoint.channel_values).toEqual(goingOn);
      });
    }

    test("that a tool returns leaves its thread readable, and is its result", async () => {
      const returned = Object.values(lookalikes);
      // A tier refuses the key __proto__; a result keeps it.
      const { "a prototype": _refused, ...allowed } = lookalikes;
      const found = Object.values(allowed);
      const find = defineTool({
        name: "find",
        description: "Finds what somebody planted.",
        input_schema: z.object({ query: z.unknown() }),
        persistence: "execution",
        handler: (state, input) => ({
          newState: { ...state, execution: { found, input } },
          toolResult: returned,
        }),
      });
      const agent = defineAgent({ name: "finder", tools: [find] });
      const args = { query: lookalikes["a message with a secret"] };
      const runtime = await createRuntime({
        ...("url" in database.options ? { databaseUrl: database.options.url } : database.options),
        models: new ScriptedModel([{ calls: [{ name: "find", args }] }, "Found.", "Again."]),
        env: {},
      });
      try {
        const threadId = randomUUID();
        const first = await executeAgent(agent, { message: "go" }, { runtime, threadId });
        expect(first.steps[0]!.tool_results[0]!.result).toEqual(returned);
        const stored = (await open({ schema: "stratagraph" }).getTuple(at(threadId)))!.checkpoint
          .channel_values;
        expect(stored["execution"]).toEqual({ found, input: args });
        const second = await executeAgent(agent, { message: "again" }, { runtime, threadId });
        expect(second.status).toBe("COMPLETED");

        const state = await runtime.threads.stateAt({ threadId });
        expect(JSON.stringify(state)).toContain("LOOKALIKE_SECRET");
        const { channel_values: values } = (await open({ schema: "stratagraph" }).getTuple(
          at(threadId),
        ))!.checkpoint;
        const [step] = values["steps"] as typeof first.steps;
        expect(contentDifference(step!.tool_results[0]!.result, returned)).toBeNull();
      } finally {
        await runtime.close();
      }
    });
  });
}
