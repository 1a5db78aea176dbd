import type { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { gate, useRunServers } from "../../helpers/run-server.ts";

describe.each(drawDatabases(import.meta.url))("a stream of a thread on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "has the events of a run in place of one that was removed, with higher numbers",
    async () => {
      const held = gate();
      const hangs = (_request: unknown, { signal }: { readonly signal?: AbortSignal }) => {
        held.wait().catch(() => {});
        return new Promise<AIMessage>((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        });
      };
      const api = await start([hangs, "Hello."]);
      await api.agent({ name: "plain", tools: ["calculator"] });
      const { port, key: apiKey } = api;
      const client = new Client({ apiUrl: `http://127.0.0.1:${port}`, apiKey });
      const thread = client.threads.stream({ assistantId: "plain" });
      const { run_id: removed = "" } = await thread.run.start({
        input: { input: { message: "Hi." } },
      });
      const events = await api.stream(`/threads/${thread.threadId}/stream/events`, {
        method: "POST",
        body: { channels: ["lifecycle"] },
      });
      const next = async () => (await events.next())?.data as never as ProtocolEvent;
      const first = await next();
      expect(first.event_id.split(":")[0]).toBe(removed);
      await held.arrived;
      const { run_id: kept } = await thread.run.start({
        input: { input: { message: "Hello." } },
        multitaskStrategy: "rollback",
      });
      let event = await next();
      while (event.event_id.startsWith(removed)) event = await next();
      expect(event).toMatchObject({ params: { data: { event: "running" } } });
      expect(event.event_id.split(":")[0]).toBe(kept);
      expect(event.seq).toBeGreaterThan(first.seq + 1_000);
      events.close();
      await thread.close();
    },
  );
});

interface ProtocolEvent {
  readonly event_id: string;
  readonly seq: number;
}
