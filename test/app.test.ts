import { getStore, InMemoryStore } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentNamespace,
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
  InvalidMemoryError,
  MissingApiKeyError,
  type Runtime,
  type RuntimeOptions,
} from "../src/index.ts";
import { compileAgent } from "../src/app.ts";
import { newTenant } from "./contract/memory-store.ts";
import { useDatabase } from "./helpers/databases.ts";
import { oddEmbeddings } from "./helpers/odd-embeddings.ts";
import { ScriptedModel } from "./helpers/scripted-model.ts";

const database = useDatabase("pglite");
const namespace = agentNamespace("support");
const content = "Ada prefers short answers.";

async function use<T>(options: RuntimeOptions, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const models = new ScriptedModel([], true);
  const runtime = await createRuntime({ env: {}, models, ...options });
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
  }
}

describe("the memories of a runtime", () => {
  it("are in this process without a database, and search by words by default here", () =>
    use({ checkpointer: false }, async (runtime) => {
      const memory = await runtime.memory();
      expect(await runtime.memory()).toBe(memory);
      expect(await runtime.memory("none")).toBe(memory);
      // vitest.config.ts sets STRATAGRAPH_EMBEDDINGS of the process.
      expect(memory.embeddingModel).toBeNull();
      await memory.add([{ namespace, content }]);
      const [hit] = await memory.search({ namespace, text: "short answers" });
      expect(hit?.entry).toMatchObject({
        content,
        tenant_id: "00000000-0000-0000-0000-000000000000",
      });
    }));

  it("have the embeddings that the runtime or a definition names", () =>
    use({ checkpointer: false, memoryEmbeddings: oddEmbeddings("own:1") }, async (runtime) => {
      const memory = await runtime.memory();
      expect(memory.embeddingModel).toBe("own:1");
      const [added] = await memory.add([{ namespace, content }]);
      expect(added?.isEmbedded).toBe(true);
      const words = await runtime.memory("none");
      expect(words.embeddingModel).toBeNull();
      expect(await words.list({})).toHaveLength(1);
      await expect(runtime.memory("openai:text-embedding-3-small")).rejects.toThrow(
        MissingApiKeyError,
      );
    }));

  it("are in the database, by tenant", async () => {
    await database.shared.close();
    const folder = database.options.folder ?? "";
    const [one, other] = [newTenant(), newTenant()];
    await use({ folder, tenantId: one }, async (runtime) => {
      await (await runtime.memory()).add([{ namespace, content }]);
    });
    await use({ folder, tenantId: other }, async (runtime) => {
      expect(await (await runtime.memory()).list({})).toEqual([]);
    });
    await use({ folder, tenantId: one }, async (runtime) => {
      expect(await (await runtime.memory()).list({})).toMatchObject([{ content, tenant_id: one }]);
    });
  });

  it("need a tenant that is a UUID", () =>
    use({ checkpointer: false, tenantId: "acme" }, async (runtime) => {
      await expect(runtime.memory()).rejects.toThrow(InvalidMemoryError);
    }));
});

describe("the store that tools get", () => {
  const note = defineTool({
    name: "note",
    description: "Notes a text.",
    input_schema: z.object({ text: z.string() }),
    handler: async ({ text }) => {
      await getStore()?.put(["notes"], "last", { text });
      return "noted";
    },
  });
  const agent = defineAgent({ name: "noting", tools: [note] });
  const script = [
    { calls: [{ name: "note", args: { text: "Buy milk" } }] },
    JSON.stringify({ message: "Noted." }),
  ];

  it("holds the memories of the runtime, also for graphs that keep none of their own", () =>
    use({ checkpointer: false, models: new ScriptedModel(script, true) }, async (runtime) => {
      const { status } = await executeAgent(agent, { message: "Note: buy milk" }, { runtime });
      expect(status).toBe("COMPLETED");
      expect((await runtime.store.get(["notes"], "last"))?.value).toEqual({ text: "Buy milk" });
      const [entry] = await (await runtime.memory()).list({ namespace: ["notes"] });
      expect(entry).toMatchObject({ content: "Buy milk", key: "last" });
      // A store of the graph itself is polled all the time.
      expect((await compileAgent(agent, runtime)).store).toBeUndefined();
    }));

  it("is that of the caller, if it gives one", () =>
    use({ checkpointer: false, models: new ScriptedModel(script, true) }, async (runtime) => {
      const graph = await compileAgent(agent, runtime);
      const store = new InMemoryStore();
      await graph.invoke({ input: { message: "Note: buy milk" } }, { store } as never);
      expect((await store.get(["notes"], "last"))?.value).toEqual({ text: "Buy milk" });
      expect(await runtime.store.get(["notes"], "last")).toBeNull();
    }));
});
