import { describe, expect, it } from "vitest";
import { useDatabase } from "../../helpers/databases.ts";
import { openAIServer, type OpenAIServer, Silence } from "../../helpers/openai-server.ts";
import { type ServerProcess, useServerProcesses } from "../../helpers/server-processes.ts";

const database = useDatabase("postgres");
const servers = useServerProcesses(database);
const input = { input: { message: "Write to Ida." } };

const clerk = (name: string, model: OpenAIServer) => ({
  name,
  llm_config: { default_model: "openai:gpt-4o-mini", base_url: model.url },
  tools: ["send"],
  guardrail_config: { tool_rails: { require_approval: ["send"] } },
});

/** The events of a run, as the log has them. */
async function logOf(runId: string) {
  const { rows } = await database.shared.pool.query<{ seq: number; event: string; data: unknown }>(
    `select seq, event, data from stratagraph.run_event where run_id = '${runId}' order by seq`,
  );
  return rows;
}

async function numbersOf({ client }: ServerProcess, thread: string, run: string) {
  const numbers: number[] = [];
  for await (const { id } of client.runs.joinStream(thread, run)) numbers.push(Number(id));
  return numbers;
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe.skipIf(!database.available)("runs over processes", () => {
  it("are answered and ended after two servers were killed, and make the approved call once", async () => {
    await using model = await openAIServer({ calls: [{ name: "send", args: { to: "Ida" } }] });
    const silence = new Silence();
    model.answer({ silent: silence, first: "The letter is " }, { text: "Ida has it." });
    const first = await servers.start();
    await first.post("/v1/agents", clerk("clerk", model));
    const { thread_id: thread } = await first.client.threads.create();
    let asked: unknown;
    for await (const { event, data } of first.client.runs.stream(thread, "clerk", { input }))
      if (event === "values") asked = data;
    expect(asked).toMatchObject({ __interrupt__: [{ value: { kind: "tool_approval" } }] });
    const [second] = await Promise.all([servers.start(), first.kill()]);

    expect(await second.client.threads.get(thread)).toMatchObject({ status: "interrupted" });
    expect(servers.letters()).toEqual([]);
    const command = { resume: "approve" };
    const run = await second.client.runs.create(thread, "clerk", { command });
    await silence.asked;
    const [third] = await Promise.all([servers.start(), second.kill()]);

    const values = await third.client.runs.join(thread, run.run_id);
    expect(values).toMatchObject({
      status: "COMPLETED",
      output: { message: "Ida has it." },
      messages: [{ type: "human" }, { type: "ai" }, { type: "tool" }, { content: "Ida has it." }],
    });
    expect(servers.letters().map((line) => line.split(" ")[0])).toEqual(["began", "ended"]);
    const history = await third.client.threads.getHistory(thread, { limit: 100 });
    expect(history[0]).toMatchObject({ next: [], values: { status: "COMPLETED" } });
    const ids = history.map(({ checkpoint }) => checkpoint.checkpoint_id);
    const parents = history.map(({ parent_checkpoint: parent }) => parent?.checkpoint_id);
    expect(parents).toEqual([...ids.slice(1), undefined]);
    const states = await third.client.runs.list(thread);
    expect(states.map(({ status }) => status)).toEqual(["success", "success"]);
    const numbers = await numbersOf(third, thread, run.run_id);
    expect(numbers).toEqual(upTo(numbers.length));
  });

  it("are handed over at their next step when their server stops", async () => {
    await using model = await openAIServer();
    const silence = new Silence();
    model.answer({ silent: silence, first: "one two " });
    const first = await servers.start();
    await first.post("/v1/agents", clerk("stopped", model));
    const { thread_id: thread } = await first.client.threads.create();
    const streamMode = ["values", "messages-tuple"] as const;
    const run = await first.client.runs.create(thread, "stopped", {
      input,
      streamMode: [...streamMode],
    });
    await silence.asked;
    const second = await servers.start();
    const waiting = second.client.runs.join(thread, run.run_id);
    // The other one would take the run only once it was handed over.
    const stopped = first.stop();
    const isClosing = async () =>
      (await fetch(`${first.url}/healthz`).catch(() => null))?.status !== 200;
    await expect.poll(isClosing).toBe(true);
    silence.release(" three four");
    await stopped;
    expect(await waiting).toMatchObject({ output: { message: "one two three four" } });
    expect(model.requests).toHaveLength(1);
    const log = await logOf(run.run_id);
    expect(log.map(({ seq }) => seq)).toEqual(upTo(log.length));
    expect(log.filter(({ event }) => event === "metadata").map(({ data }) => data)).toMatchObject([
      { attempt: 1 },
      { attempt: 1 },
    ]);
    expect(JSON.stringify(log)).not.toContain('"remove"');
    const numbers = await numbersOf(second, thread, run.run_id);
    expect(numbers).toEqual(upTo(log.length - 1));
  });
});
