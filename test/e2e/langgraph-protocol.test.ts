import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createServer, type PlatformServer } from "../../src/create-server.ts";
import { shapeDifferences, withoutIds, withoutPaths } from "../helpers/answer-shape.ts";
import { listenChecked } from "../helpers/api-server.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type DevServer, startDevServer } from "../helpers/dev-server.ts";
import { assistantCalls } from "../helpers/langgraph-calls/assistants.ts";
import { ownDifferences } from "../helpers/langgraph-calls/call.ts";
import { journeys } from "../helpers/langgraph-calls/journeys.ts";
import { eventCalls, eventsOf } from "../helpers/langgraph-calls/events.ts";
import { remoteCalls } from "../helpers/langgraph-calls/remote.ts";
import { replay } from "../helpers/langgraph-calls/replay.ts";
import { runCalls } from "../helpers/langgraph-calls/runs.ts";
import { storeCalls } from "../helpers/langgraph-calls/store.ts";
import { streamCalls, streamed } from "../helpers/langgraph-calls/streams.ts";
import { threadCalls } from "../helpers/langgraph-calls/threads.ts";

describe("LangGraph's protocol, next to langgraph dev", () => {
  const database = useDatabase("pglite");
  let dev: DevServer;
  let server: PlatformServer;
  let urls: { readonly theirs: string; readonly ours: string };
  let clients: { readonly theirs: Client; readonly ours: Client };
  let ownUrl: string;

  beforeAll(async () => {
    await rm("test/e2e/fixtures/protocol/.langgraph_api", { recursive: true, force: true });
    dev = await startDevServer({}, "test/e2e/fixtures/protocol/langgraph.json");
    server = await createServer({ database: database.shared, development: true, env: {} });
    const { send, listening } = await listenChecked(server);
    ownUrl = listening.url;
    for (const name of ["protocol/clerk", "letters", "office"]) {
      const text = readFileSync(`test/e2e/fixtures/${name}.yaml`, "utf8");
      // Agents of tenants are named, not found in files.
      const body: unknown = parse(text.replace("./letters.yaml", "letters"));
      await send("POST", "/v1/agents", { body });
    }
    const clientOf = (apiUrl: string) =>
      new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } });
    urls = { theirs: dev.url, ours: listening.url };
    clients = { theirs: clientOf(dev.url), ours: clientOf(listening.url) };
  });
  afterAll(async () => {
    await server.close(0);
    await dev.stop();
  });

  it.each(
    [
      ...[...assistantCalls, ...storeCalls, ...threadCalls].map((call) => ({
        ...call,
        isOfRuns: false,
      })),
      ...[...runCalls, ...remoteCalls].map((call) => ({ ...call, isOfRuns: true })),
    ].map((call) => [call.name, call] as const),
  )("%s has the same answer", async (_name, { call, same, differs = [], isOfRuns }) => {
    const theirs = await call(clients.theirs);
    const ours = await call(clients.ours);
    const differences = shapeDifferences(theirs, ours);
    expect(isOfRuns ? ownDifferences(differences) : differences).toEqual(differs);
    const additional = new Set(differs.map((path) => path.replace(/^\+ /, "")));
    const values = same === "value" ? [withoutPaths(ours, additional), theirs] : [];
    expect(withoutIds(values[0])).toEqual(withoutIds(values[1]));
  });

  it.each(eventCalls.map((call) => [call.name, call] as const))(
    "event streaming of %s has the same events",
    async (_name, call) => {
      const {
        data: expected,
        answers: wanted,
        ...theirs
      } = await eventsOf(clients.theirs, dev.url, call);
      const { data, answers, ...ours } = await eventsOf(clients.ours, ownUrl, call);
      expect(ours).toEqual(theirs);
      expect(ours.isGrowing).toBe(true);
      expect(ours.again).toEqual(ours.names.slice(1));
      expect(ownDifferences(shapeDifferences(expected, data))).toEqual([]);
      expect(ownDifferences(shapeDifferences(wanted, answers))).toEqual([]);
    },
  );

  it.each(streamCalls.map((call) => [call.name, call] as const))(
    "runs.stream of %s has the same events",
    async (_name, call) => {
      const theirs = await streamed(clients.theirs, call);
      const ours = await streamed(clients.ours, call);
      expect(ours.names).toEqual(theirs.names);
      const differences = shapeDifferences(theirs.data, ours.data);
      expect(ownDifferences(differences)).toEqual(call.differs ?? []);
    },
  );

  it.each(journeys.map((journey) => [journey.name, journey] as const))(
    "the requests of %s have the same answers",
    async (_name, journey) => {
      const theirs = await replay(urls.theirs, journey);
      const ours = await replay(urls.ours, journey);
      const outlines = [ours, theirs].map((answers) =>
        answers.map(({ request, status, events }) => ({ request, status, events })),
      );
      expect(outlines[0]).toEqual(outlines[1]);
      const differences = theirs.flatMap(({ request, body }, at) =>
        ownDifferences(shapeDifferences(body, ours[at]?.body)).map((one) => `${request} ${one}`),
      );
      expect(differences).toEqual(journey.differs ?? []);
    },
  );
});
