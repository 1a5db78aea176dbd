import { MessageTupleManager, StreamManager } from "@langchain/langgraph-sdk/ui";
import { MessageAssembler } from "@langchain/langgraph-sdk/client";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../helpers/databases.ts";
import { openAIServer, type OpenAIServer, Silence } from "../../helpers/openai-server.ts";
import { openEvents } from "../../helpers/run-server.ts";
import { type ServerProcess, useServerProcesses } from "../../helpers/server-processes.ts";

const database = useDatabase("postgres");
const servers = useServerProcesses(database);

const input = { input: { message: "What is 6 * 7?" } };
const calculates = { calls: [{ name: "calculator", args: { expression: "6 * 7" } }] };
const modes = ["values", "updates", "messages-tuple", "messages", "custom", "events"] as const;

interface Part {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How clients read the events of a run that is under way. */
interface Reading {
  /** Whether the events are numbered from 1. */
  readonly isNumbered: boolean;
  /** Reads what comes after an event, until one has a text, or to the end. */
  read(server: ServerProcess, after?: Part, until?: string): Promise<readonly Part[]>;
}

const has = (part: Part, text: string | undefined) =>
  text !== undefined && JSON.stringify(part.data).includes(text);

async function take(
  next: () => Promise<Part | null>,
  isLast: (part: Part) => boolean,
): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for (let part = await next(); part !== null; part = await next()) {
    parts.push(part);
    if (isLast(part)) break;
  }
  return parts;
}

let agents = 0;

/** Stores an agent with a model. */
async function define(server: ServerProcess, model: OpenAIServer) {
  const name = `agent-${(agents += 1)}`;
  const llm = { default_model: "openai:gpt-4o-mini", base_url: model.url };
  const made = await server.post("/v1/agents", { name, llm_config: llm, tools: ["calculator"] });
  return { name, id: String(made["id"]) };
}

/** Begins a run of LangGraph's protocol. */
async function begin(server: ServerProcess, model: OpenAIServer): Promise<Reading> {
  const { name } = await define(server, model);
  const { thread_id: thread } = await server.client.threads.create();
  const options = { input, streamMode: [...modes] };
  const { run_id: run } = await server.client.runs.create(thread, name, options);
  return {
    isNumbered: true,
    async read({ client }, after, until) {
      const of = after === undefined ? {} : { lastEventId: after.id };
      const stream = client.runs.joinStream(thread, run, of)[Symbol.asyncIterator]();
      const next = async () => {
        const { done, value } = await stream.next();
        return done === true ? null : (value as unknown as Part);
      };
      const parts = await take(next, (part) => has(part, until));
      await stream.return?.(undefined);
      return parts;
    },
  };
}

/** Begins a run of the routes at `/v1`. */
async function beginTurn(server: ServerProcess, model: OpenAIServer): Promise<Reading> {
  const { id } = await define(server, model);
  const runs = `/v1/agents/${id}/runs`;
  const { run_id: run } = await server.post(runs, { input: input.input });
  return {
    isNumbered: true,
    async read({ port }, after, until) {
      const headers = { "last-event-id": after?.id ?? "0" };
      const stream = await openEvents(port, `${runs}/${String(run)}/events`, { headers });
      const next = async () => {
        const event = await stream.next();
        return event && { ...event, id: String(event.id) };
      };
      const parts = await take(next, (part) => has(part, until));
      stream.close();
      return parts;
    },
  };
}

/** Begins a run by a command of event streaming. */
async function beginThread(server: ServerProcess, model: OpenAIServer): Promise<Reading> {
  const { name } = await define(server, model);
  const { thread_id: thread } = await server.client.threads.create();
  const params = { assistant_id: name, input };
  await server.post(`/threads/${thread}/commands`, { id: 1, method: "run.start", params });
  const channels = ["values", "updates", "messages", "custom", "lifecycle", "checkpoints"];
  return {
    isNumbered: false,
    async read({ port }, after, until) {
      const since = after && { since: Number(after.data["seq"]) };
      const body = { channels, ...since };
      const path = `/threads/${thread}/stream/events`;
      const stream = await openEvents(port, path, { method: "POST", body });
      const next = async () => {
        const event = await stream.next();
        return event && { ...event, id: String(event.data["event_id"]) };
      };
      const isEnd = ({ event, data }: Part) =>
        event === "lifecycle" && isAtRoot(data) && has({ id: "", event, data }, '"completed"');
      const parts = await take(next, (part) => has(part, until) || isEnd(part));
      stream.close();
      return parts;
    },
  };
}

function isAtRoot(data: Part["data"]): boolean {
  return (data["params"] as { namespace: readonly string[] }).namespace.length === 0;
}

async function models() {
  const all = await Promise.all([openAIServer(), openAIServer(), openAIServer()]);
  const silences = all.map((model, at) => {
    const silence = new Silence();
    model.answer(calculates, { silent: silence, first: `one two three${at} ` });
    model.answer({ text: "eins zwei drei" });
    return silence;
  });
  const close = () => Promise.all(all.map((model) => model.close()));
  return { all, silences, [Symbol.asyncDispose]: async () => void (await close()) };
}

/** Begins a run of each kind, and reads them in the middle of their second reply. */
async function beginAll(
  server: ServerProcess,
  { all, silences }: Awaited<ReturnType<typeof models>>,
) {
  const [graph, turns, thread] = all;
  const readings = [
    await begin(server, graph),
    await beginTurn(server, turns),
    await beginThread(server, thread),
  ];
  const seen = await Promise.all(
    readings.map((reading, at) => reading.read(server, undefined, `three${at}`)),
  );
  await Promise.all(silences.map(({ asked }) => asked));
  return { readings, seen };
}

/** Reads the rest at another server, and returns all events. */
async function resume(
  server: ServerProcess,
  { readings, seen }: Awaited<ReturnType<typeof beginAll>>,
) {
  return Promise.all(
    readings.map(async (reading, at) => {
      const before = seen[at]!;
      const whole = [...before, ...(await reading.read(server, before.at(-1)))];
      // The stream from its start is the same list.
      expect(await reading.read(server)).toEqual(whole);
      const ids = whole.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const numbers = ids.map((_, place) => String(place + 1));
      expect(reading.isNumbered ? ids : numbers).toEqual(numbers);
      return whole;
    }),
  );
}

describe.skipIf(!database.available)("streams of runs over processes", () => {
  it("continue at another server while the run goes on", async () => {
    await using scripts = await models();
    const [first, second] = await Promise.all([servers.start(), servers.start({ concurrency: 0 })]);
    const begun = await beginAll(first, scripts);
    for (const silence of scripts.silences) silence.release("four five six");
    const [graph = [], turns = [], thread = []] = await resume(second, begun);
    for (const parts of [graph, turns, thread])
      expect(JSON.stringify(parts.slice(-3))).toContain("one two three");
    expect(new Set(graph.map(({ event }) => event.split("/")[0]))).toEqual(
      new Set(["metadata", ...modes.filter((mode) => mode !== "messages-tuple")]),
    );
  });

  it("continue after the server of the run was killed, and void what its models had begun", async () => {
    await using scripts = await models();
    const first = await servers.start();
    const begun = await beginAll(first, scripts);
    const second = servers.start();
    await first.kill();
    const [graph = [], turns = [], thread = []] = await resume(await second, begun);

    // A client that reads messages alone has the texts of the state, each once.
    const merged = await mergedMessages(graph.filter(({ event }) => event === "messages"));
    expect(merged.map(({ type, content }) => [type, content])).toEqual([
      ["human", "What is 6 * 7?"],
      ["ai", ""],
      ["tool", expect.stringContaining("42")],
      ["ai", "eins zwei drei"],
    ]);
    const state = graph.findLast(({ event }) => event === "values")!.data["messages"];
    expect(merged.map(({ id }) => id)).toEqual((state as { id: string }[]).map(({ id }) => id));
    const whole = new Map<string, unknown>();
    for (const { event, data } of graph)
      if (event === "messages/partial" || event === "messages/complete")
        for (const message of data as unknown as { id: string; type: string; content: unknown }[])
          if (message.type === "remove") whole.delete(message.id);
          else whole.set(message.id, message.content);
    expect([...whole.values()]).toEqual(expect.arrayContaining(["eins zwei drei"]));
    expect(JSON.stringify([...whole.values()])).not.toContain("three");
    expect(graph.filter(({ event }) => event === "metadata").map(({ data }) => data)).toMatchObject(
      [{ attempt: 1 }, { attempt: 2 }],
    );
    const calls = graph.filter(({ event, data }) => event === "custom" && "call" in data);
    expect(calls).toHaveLength(1);

    const resets = turns.filter(({ event }) => event === "message_reset");
    expect(resets).toHaveLength(1);

    const assembler = new MessageAssembler();
    const ends = thread
      .filter(({ event }) => event === "messages")
      .map(({ data }) => assembler.consume(data as never)?.kind)
      .filter((kind) => kind === "message-finish" || kind === "message-error");
    expect(ends.filter((kind) => kind === "message-error")).toHaveLength(1);
    expect(assembler.abandonActive()).toEqual([]);
    const begins = thread.filter(
      ({ event, data }) =>
        event === "lifecycle" && isAtRoot(data) && has({ id: "", event, data }, '"running"'),
    );
    expect(begins).toHaveLength(2);
  });
});

/** The messages that `useStream` of the SDK makes of a stream. */
async function mergedMessages(parts: readonly Part[]) {
  type Values = { messages?: { id?: string; type: string; content: unknown }[] };
  const manager = new StreamManager<Values>(new MessageTupleManager(), { throttle: false });
  const stream = async function* () {
    yield* structuredClone(parts);
  };
  await manager.start(async () => stream() as never, {
    initialValues: {},
    callbacks: {},
    getMessages: ({ messages }) => (messages ?? []) as never,
    setMessages: (values, messages) => ({ ...values, messages }),
    onSuccess: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  return manager.values?.messages ?? [];
}
