import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../helpers/databases.ts";
import { calculates, gate, type RunServer, useRunServers } from "../../helpers/run-server.ts";
import { AIMessage } from "@langchain/core/messages";

const plain = { name: "plain", tools: ["calculator"] };
const approving = {
  ...plain,
  name: "approving",
  guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
};
const input = { input: { message: "What is 6 * 7?" } };

function clientOf(api: RunServer, key = api.key): Client {
  return new Client({
    apiUrl: `http://127.0.0.1:${api.port}`,
    apiKey: key,
    callerOptions: { maxRetries: 0 },
  });
}

async function refusal(request: Promise<unknown>): Promise<unknown> {
  try {
    await request;
    return "accepted";
  } catch (thrown) {
    return (thrown as { status?: unknown }).status;
  }
}

interface Chunk {
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

async function chunksOf(stream: AsyncIterable<unknown>): Promise<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk as Chunk);
  return chunks;
}

/** A reply that waits, and ends with its signal. */
function holding(text: string) {
  const held = gate();
  const reply = async (_request: unknown, { signal }: { readonly signal?: AbortSignal }) => {
    await Promise.race([
      held.wait(),
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      }),
    ]);
    return new AIMessage(text);
  };
  return { held, reply };
}

describe.each(["pglite", "postgres"] as const)("LangGraph's runs on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "are executed on a thread, and its state has the answer",
    async () => {
      const api = await start([calculates, "It is 42."]);
      await api.agent(plain);
      const client = clientOf(api);
      const { thread_id: threadId } = await client.threads.create();
      const values = await client.runs.wait(threadId, "plain", { input });
      expect(values).toMatchObject({ status: "COMPLETED", output: { message: "It is 42." } });
      const state = await client.threads.getState(threadId);
      expect(state).toMatchObject({ values: { status: "COMPLETED" }, next: [] });
      const [run] = await client.runs.list(threadId);
      expect(run).toMatchObject({ thread_id: threadId, status: "success" });
      expect(await client.runs.get(threadId, run!.run_id)).toMatchObject({
        kwargs: { input, stream_mode: ["values"] },
        multitask_strategy: "reject",
      });
      expect(await client.runs.join(threadId, run!.run_id)).toEqual(values);
      const runs = await api.send("GET", `/v1/threads/${threadId}`);
      expect(runs.json).toMatchObject({ agent: "plain", status: "COMPLETED", turns: 1 });
      await client.runs.delete(threadId, run!.run_id);
      expect(await client.runs.list(threadId)).toEqual([]);
    },
  );

  it.skipIf(!database.available)(
    "stream in the modes that are asked for, and again after an event",
    async () => {
      const api = await start([calculates, "It is 42.", calculates, "It is 42."]);
      await api.agent(plain);
      const client = clientOf(api);
      const modes = ["values", "updates", "messages-tuple", "custom", "tasks"] as const;
      const { thread_id: threadId } = await client.threads.create();
      const chunks = await chunksOf(
        client.runs.stream(threadId, "plain", { input, streamMode: [...modes] }),
      );
      const kinds = new Set(chunks.map(({ event }) => event));
      expect([...kinds].toSorted()).toEqual([
        "custom",
        "messages",
        "metadata",
        "tasks",
        "updates",
        "values",
      ]);
      expect(chunks[0]).toMatchObject({ event: "metadata", data: { attempt: 1 } });
      const last = chunks.findLast(({ event }) => event === "values");
      expect(last?.data).toMatchObject({ status: "COMPLETED", output: { message: "It is 42." } });
      const [run] = await client.runs.list(threadId);
      const half = chunks[Math.floor(chunks.length / 2)]!;
      const again = await chunksOf(
        client.runs.joinStream(threadId, run!.run_id, { lastEventId: half.id! }),
      );
      expect(again).toEqual(chunks.slice(chunks.indexOf(half) + 1));

      const old = await chunksOf(
        client.runs.stream(null, "plain", { input, streamMode: ["messages", "events", "debug"] }),
      );
      const names = new Set(old.map(({ event }) => event));
      expect([...names]).toEqual(
        expect.arrayContaining(["metadata", "messages/complete", "events", "debug"]),
      );
      expect(JSON.stringify(old)).not.toMatch(/"__pregel\w*":/);
    },
  );

  it.skipIf(!database.available)("wait for an approval, which a command gives", async () => {
    const api = await start([calculates, "It is 42."]);
    await api.agent(approving);
    const client = clientOf(api);
    const { thread_id: threadId } = await client.threads.create();
    const waiting = (await client.runs.wait(threadId, "approving", { input })) as Record<
      string,
      unknown
    >;
    expect(waiting["__interrupt__"]).toMatchObject([{ value: { kind: "tool_approval" } }]);
    expect(await client.threads.get(threadId)).toMatchObject({ status: "interrupted" });
    const requests = await api.send("GET", "/v1/requests");
    expect(requests.json["requests"]).toHaveLength(1);
    const writer = await api.join(["runs:write", "runs:read"], api.tenantId);
    const command = { resume: "approve" };
    const own = clientOf(api, writer.key);
    expect(await refusal(own.runs.create(threadId, "approving", { command }))).toBe(403);
    expect(await client.runs.wait(threadId, "approving", { command })).toMatchObject({
      status: "COMPLETED",
      output: { message: "It is 42." },
    });
    expect(await client.threads.get(threadId)).toMatchObject({ status: "idle" });
    expect((await api.send("GET", "/v1/requests")).json["requests"]).toEqual([]);
    const statuses = (await client.runs.list(threadId)).map(({ status }) => status);
    expect(statuses).toEqual(["success", "success"]);
  });

  it.skipIf(!database.available)("stop before a node, and go on without an input", async () => {
    const api = await start(["Hello."]);
    await api.agent(plain);
    const client = clientOf(api);
    const { thread_id: threadId } = await client.threads.create();
    const interruptBefore = "*" as const;
    await client.runs.wait(threadId, "plain", { input, interruptBefore });
    const { next } = await client.threads.getState(threadId);
    expect(next.length).toBeGreaterThan(0);
    expect(await client.threads.get(threadId)).toMatchObject({ status: "interrupted" });
    const values = await client.runs.wait(threadId, "plain", { input: null });
    expect(values).toMatchObject({ status: "COMPLETED", output: { message: "Hello." } });
  });

  it.skipIf(!database.available)(
    "are refused, queued or cancelled while another one runs",
    async () => {
      const { held, reply } = holding("Late.");
      const api = await start([reply, "Second.", "Third."]);
      await api.agent(plain);
      const client = clientOf(api);
      const { thread_id: threadId } = await client.threads.create();
      const first = await client.runs.create(threadId, "plain", { input });
      await held.arrived;
      expect(await refusal(client.runs.create(threadId, "plain", { input }))).toBe(422);
      const rollback = { input, multitaskStrategy: "rollback" } as const;
      expect(await refusal(client.runs.create(threadId, "plain", rollback))).toBe(422);
      const queued = await client.runs.create(threadId, "plain", {
        input,
        multitaskStrategy: "enqueue",
      });
      expect(queued).toMatchObject({ status: "pending" });
      const urgent = { input, multitaskStrategy: "interrupt" } as const;
      const values = await client.runs.wait(threadId, "plain", urgent);
      expect(values).toMatchObject({ output: { message: "Second." } });
      for (const { run_id: runId } of [first, queued])
        expect(await client.runs.get(threadId, runId)).toMatchObject({ status: "interrupted" });
      held.open();
    },
  );

  it.skipIf(!database.available)("are cancelled by their client, also by going away", async () => {
    const [one, two] = [holding("Late."), holding("Late.")];
    const api = await start([one.reply, two.reply]);
    await api.agent(plain);
    const client = clientOf(api);
    const { thread_id: threadId } = await client.threads.create();
    const run = await client.runs.create(threadId, "plain", { input });
    await one.held.arrived;
    await client.runs.cancel(threadId, run.run_id, true);
    expect(await client.runs.get(threadId, run.run_id)).toMatchObject({ status: "interrupted" });

    const leaving = new AbortController();
    const options = { input, onDisconnect: "cancel", signal: leaving.signal } as const;
    const stream = client.runs.stream(threadId, "plain", options);
    const reading = chunksOf(stream).catch(() => []);
    await two.held.arrived;
    leaving.abort();
    await reading;
    const [left] = await client.runs.list(threadId);
    await api.until(`/threads/${threadId}/runs/${left!.run_id}`, "interrupted");
  });

  it.skipIf(!database.available)("start at an earlier state", async () => {
    const api = await start(["One.", "Two.", "Other."]);
    await api.agent(plain);
    const client = clientOf(api);
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, "plain", { input });
    const { checkpoint } = await client.threads.getState(threadId);
    await client.runs.wait(threadId, "plain", { input });
    const checkpointId = checkpoint.checkpoint_id!;
    const values = (await client.runs.wait(threadId, "plain", { input, checkpointId })) as {
      messages: readonly { content: unknown }[];
    };
    const texts = values.messages.map(({ content }) => content);
    expect(texts).toContain("Other.");
    expect(texts).not.toContain("Two.");
  });

  it.skipIf(!database.available)("are those of their tenant and thread alone", async () => {
    const api = await start(["Hello."]);
    await api.agent(plain);
    const client = clientOf(api);
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, "plain", { input });
    const [run] = await client.runs.list(threadId);
    const { run_id: runId } = run!;
    const reader = clientOf(api, (await api.join(["runs:read"], api.tenantId)).key);
    const { kwargs } = (await reader.runs.get(threadId, runId)) as { kwargs?: object };
    expect(kwargs).toEqual({ stream_mode: ["values"], subgraphs: false });
    const [listed] = await client.runs.list(threadId, { select: ["run_id", "status"] });
    expect(listed).toMatchObject({ run_id: runId });
    const writer = clientOf(api, (await api.join(["runs:write"], api.tenantId)).key);
    expect(await refusal(writer.runs.wait(threadId, "plain", { input }))).toBe(403);
    const other = clientOf(api, (await api.join()).key);
    const { thread_id: elsewhere } = await client.threads.create();
    for (const request of [
      () => other.runs.get(threadId, runId),
      () => other.runs.list(threadId),
      () => other.runs.join(threadId, runId),
      () => other.runs.cancel(threadId, runId),
      () => other.runs.delete(threadId, runId),
      () => other.runs.create(threadId, "plain", { input }),
      () => client.runs.get(elsewhere, runId),
      () => client.runs.create("00000000-0000-7000-8000-000000000000", "plain", { input }),
      () => client.runs.create(elsewhere, "unknown", { input }),
    ])
      expect(await refusal(request())).toBe(404);
  });
});
