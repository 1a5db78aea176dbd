import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime, executeAgent, type Runtime } from "../../src/index.ts";
import { useDatabase } from "../helpers/databases.ts";
import { attached, imagesSent, lampPng, pngOf, visionAgent } from "../helpers/attachments.ts";
import { collect } from "../helpers/collect.ts";
import { openAIServer, Silence, type OpenAIAnswer } from "../helpers/openai-server.ts";
import { sealed } from "../helpers/thread-transfer.ts";

/** Attachments of conversations whose threads a database stores. */
export function attachmentsContract(kind: "pglite" | "postgres"): void {
  const database = useDatabase(kind);

  async function runtimeOnDatabase(): Promise<Runtime> {
    const { url, folder } = database.options;
    const runtime = await createRuntime({
      ...(url !== undefined && { databaseUrl: url }),
      ...(folder !== undefined && { folder }),
      env: { OPENAI_API_KEY: "sk-test-not-a-key" },
      modelOptions: { maxRetries: 0 },
    });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  async function scripted(...answers: OpenAIAnswer[]) {
    const server = await openAIServer(...answers);
    onTestFinished(() => server.close());
    return { server, agent: visionAgent(server), runtime: await runtimeOnDatabase() };
  }

  const countOf = async (sql: string): Promise<number> => {
    const { rows } = await database.shared.pool.query<{ n: string }>(sql);
    return Number(rows[0]?.n);
  };
  const storedCount = () => countOf("select count(*) as n from stratagraph.attachments");
  const picture = (bytes: Buffer) => ({ attachments: [attached(bytes, "lamp.png", "image/png")] });

  describe.skipIf(!database.available)(`attachments on ${kind}`, () => {
    it("stores the bytes once however many checkpoints there are, and removes them with the thread", async () => {
      const { server, agent, runtime } = await scripted({ text: "A lamp." }, { text: "No." });
      const bytes = pngOf(60_000);
      const url = `data:image/png;base64,${bytes.toString("base64")}`;
      const options = { runtime, threadId: "lamp" };
      const first = { message: "What is this?" };
      const { output } = await executeAgent(agent, first, { ...options, ...picture(bytes) });
      expect(output).toEqual({ message: "A lamp." });
      await executeAgent(agent, { message: "Is it on?" }, options);
      expect([imagesSent(server, 0), imagesSent(server, 1)]).toEqual([[url], [url]]);

      const { items } = await runtime.threads.history("lamp");
      expect(items.length).toBeGreaterThanOrEqual(10);
      expect(await storedCount()).toBe(1);
      const inCheckpoints = await countOf(`select
        (select sum(octet_length(body)) from stratagraph.checkpoints) +
        (select sum(octet_length(body)) from stratagraph.checkpoint_write_sets) +
        (select sum(octet_length(blob)) from stratagraph.checkpoint_elements) as n`);
      expect(inCheckpoints).toBeLessThan(bytes.byteLength / 2);
      await runtime.threads.prune({ threadId: "lamp", keep: "latest" });
      expect(await storedCount()).toBe(1);
      await runtime.threads.delete("lamp");
      expect(await storedCount()).toBe(0);
    });

    it("sends a line of text two turns later, in another runtime", async () => {
      const answers = [{ text: "A lamp." }, { text: "No." }];
      const { agent, runtime } = await scripted(...answers);
      const threadId = "later";
      const sent = { runtime, threadId, ...picture(lampPng) };
      await executeAgent(agent, { message: "What is this?" }, sent);
      await executeAgent(agent, { message: "Is it on?" }, { runtime, threadId });
      await runtime.close();

      const next = await scripted({ text: "Glass." });
      const question = { message: "What is it made of?" };
      await executeAgent(next.agent, question, { runtime: next.runtime, threadId });
      expect(imagesSent(next.server, 0)).toEqual([]);
      expect(next.server.requests[0]?.body.messages[0]?.["content"]).toMatch(
        /^What is this\?\n\n\[image lamp\.png, \d+ bytes, sha256 [0-9a-f]{12}…\]$/,
      );
      await next.runtime.threads.delete(threadId);
    });

    it("sends the image again when another runtime resumes the turn", async () => {
      const silence = new Silence();
      const { agent, runtime } = await scripted({ silent: silence });
      const stop = new AbortController();
      const sent = { runtime, threadId: "resumed", ...picture(lampPng), signal: stop.signal };
      const running = executeAgent(agent, { message: "What is this?" }, sent);
      await silence.asked;
      stop.abort();
      expect((await running).status).toBe("CANCELLED");
      await runtime.close();

      const next = await scripted({ text: "A lamp." });
      // The server has another address.
      const acceptChanges = true;
      const resumed = { runtime: next.runtime, threadId: "resumed", acceptChanges };
      const { output } = await executeAgent(next.agent, null, resumed);
      expect(output).toEqual({ message: "A lamp." });
      expect(imagesSent(next.server, 0)).toHaveLength(1);
      await next.runtime.threads.delete("resumed");
    });

    it("keeps the bytes for a fork when the first thread is deleted", async () => {
      const { server, agent, runtime } = await scripted({ text: "A lamp." }, { text: "No." });
      const sent = { runtime, threadId: "first", ...picture(lampPng) };
      await executeAgent(agent, { message: "What is this?" }, sent);
      const { items } = await runtime.threads.history("first");
      const checkpointId = items[0]?.id ?? "";
      const fork = await runtime.threads.fork({ threadId: "first", checkpointId });
      await runtime.threads.delete("first");
      await executeAgent(agent, { message: "Is it on?" }, { runtime, threadId: fork.threadId });
      expect(imagesSent(server, 1)).toHaveLength(1);
      await runtime.threads.delete(fork.threadId);
      expect(await storedCount()).toBe(0);
    });

    it("exports the bytes with the thread, and refuses others under their hash", async () => {
      const { server, agent, runtime } = await scripted({ text: "A lamp." }, { text: "No." });
      const sent = { runtime, threadId: "exported", ...picture(lampPng) };
      await executeAgent(agent, { message: "What is this?" }, sent);
      const lines = await collect(runtime.threads.export("exported"));
      await runtime.threads.delete("exported");
      const forged = lines.map((line) =>
        line.startsWith('{"attachment"')
          ? line.replace(/"base64":"[^"]*"/, `"base64":"${pngOf(64).toString("base64")}"`)
          : line,
      );
      const refused = runtime.threads.import(sealed(forged), { threadId: "forged" });
      await expect(refused).rejects.toThrow(/does not have that hash/);
      expect(await storedCount()).toBe(0);

      await runtime.threads.import(lines, { threadId: "copy" });
      await executeAgent(agent, { message: "Is it on?" }, { runtime, threadId: "copy" });
      expect(imagesSent(server, 1)).toHaveLength(1);
      await runtime.threads.delete("copy");
    });

    it("reports bytes that were changed, and sends none before they are attached again", async () => {
      const { server, agent, runtime } = await scripted({ text: "A lamp." });
      const sent = { runtime, threadId: "changed", ...picture(lampPng) };
      await executeAgent(agent, { message: "What is this?" }, sent);
      await runtime.close();
      await database.shared.pool.query("update stratagraph.attachments set body = 'changed'");
      const next = await scripted({ text: "No." });
      const { damaged, damagedAttachments } = await next.runtime.threads.verify("changed");
      expect([damaged, damagedAttachments?.length]).toEqual([[], 1]);
      const again = { runtime: next.runtime, threadId: "changed" };
      const { status, failure } = await executeAgent(next.agent, { message: "Is it on?" }, again);
      expect([status, failure?.cause]).toEqual(["FAILED", "corrupt_attachment"]);
      expect([server.requests.length, next.server.requests.length]).toEqual([1, 0]);
      const { output } = await executeAgent(
        next.agent,
        { message: "Is it on?" },
        { ...again, ...picture(lampPng) },
      );
      expect(output).toEqual({ message: "No." });
      await next.runtime.threads.delete("changed");
    });
  });
}
