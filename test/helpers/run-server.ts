import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach } from "vitest";
import { z } from "zod";
import {
  createServer,
  type PlatformServer,
  type ServerBase,
  type ServerOptions,
} from "../../src/create-server.ts";
import { defineTool } from "../../src/index.ts";
import type { Route } from "../../src/server/route.ts";
import { listenChecked, type SendOptions } from "./api-server.ts";
import type { TestDatabase } from "./databases.ts";
import { useEmptyQueue } from "./empty-queue.ts";
import { ScriptedModel, type ScriptedReply } from "./scripted-model.ts";

/** A tool that the client runs. */
const locate = defineTool({
  name: "locate",
  description: "Says where the user is.",
  input_schema: z.object({}),
  output_schema: z.object({ city: z.string() }),
  transport: { type: "client" },
});

/** An agent whose calculator needs approval, with a tool that its client runs. */
export const helper = {
  name: "helper",
  tools: ["calculator", "locate"],
  guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
};

/** A reply that calls the calculator. */
export const calculates: ScriptedReply = {
  calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
};

export interface RunServerOptions extends Omit<ServerOptions, "routes"> {
  readonly routes?: (base: ServerBase) => readonly Route[];
}

export type RunServer = Awaited<ReturnType<ReturnType<typeof useRunServers>>>;

let tenants = 0;

/** Returns a function that starts a server with a scripted model and a tenant of its own. They close after each test. */
export function useRunServers(database: TestDatabase) {
  const started: PlatformServer[] = [];
  useEmptyQueue(database);
  afterEach(async () => {
    await Promise.all(started.splice(0).map((server) => server.close(0)));
  });
  return async (script: readonly ScriptedReply[], options: RunServerOptions = {}) => {
    let base: ServerBase | undefined;
    const model = new ScriptedModel(script);
    const server = await createServer({
      database: database.shared,
      runtime: { models: model },
      tools: [locate],
      rates: { perKey: { perMinute: 100_000, burst: 10_000 } },
      ...options,
      routes: (parts) => {
        base = parts;
        return options.routes?.(parts) ?? [];
      },
    });
    started.push(server);
    const { listening, send } = await listenChecked(server);
    const join = async (scopes: readonly string[] = ["*"], tenantId?: string) => {
      const tenant = { name: `runs ${process.pid} ${(tenants += 1)}` };
      const id = tenantId ?? (await server.platform.tenants.create(tenant)).id;
      const made = await server.platform.apiKeys.create({ tenantId: id, name: "test", scopes });
      return { tenantId: id, key: made.secret, keyId: made.key.id };
    };
    const own = await join();
    const ask = (method: string, path: string, of: SendOptions = {}) =>
      send(method, path, { key: own.key, ...of });
    return {
      ...own,
      server,
      base: base!,
      model,
      port: listening.port,
      /** Makes another tenant, or a key of a tenant. */
      join,
      send: ask,
      post: (path: string, body: unknown, of: SendOptions = {}) =>
        ask("POST", path, { body, ...of }),
      /** Stores an agent, and returns the path of its runs. */
      async agent(definition: object = helper): Promise<string> {
        const { status, json } = await ask("POST", "/v1/agents", { body: definition });
        if (status !== 201) throw new Error(`The agent was refused: ${JSON.stringify(json)}`);
        return `/v1/agents/${String(json["id"])}/runs`;
      },
      /** Waits until a run is in a status. */
      async until(path: string, status: string): Promise<Record<string, unknown>> {
        const id = path.split("/").at(-1) ?? "";
        for (;;) {
          const signalled = base!.signals.next(id, { ms: 100 });
          const { status: answered, json } = await ask("GET", path);
          if (json["status"] === status) return json;
          const isOver = ["complete", "failed", "cancelled", "dead"].includes(
            String(json["status"]),
          );
          if (answered !== 200 || isOver)
            throw new Error(`expected ${status}, got ${JSON.stringify(json)}`);
          await signalled;
        }
      },
      stream: (path: string, of: StreamRequest = {}) =>
        openEvents(listening.port, path, { key: own.key, ...of }),
    };
  };
}

interface StreamRequest {
  readonly key?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ReadEvent {
  readonly id: number;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** Opens a stream of events. Without a key, of a server that needs none. */
export async function openEvents(
  port: number,
  path: string,
  { key, method = "GET", body, headers = {} }: StreamRequest,
) {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = httpRequest(
      {
        port,
        host: "127.0.0.1",
        path,
        method,
        agent: false,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
      },
      resolve,
    );
    outgoing.on("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let text = "";
  /** The next block of lines; null at the end. */
  const block = async (): Promise<string | null> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const found = text.slice(0, end);
        text = text.slice(end + 2);
        return found;
      }
      const { done, value } = await chunks.next();
      if (done === true) return null;
      text += value.toString();
    }
  };
  /** The next event; null at the end. */
  const next = async (): Promise<ReadEvent | null> => {
    for (;;) {
      const found = await block();
      if (found === null) return null;
      const fields = new Map(
        found.split("\n").map((line) => [line.split(":")[0], line.replace(/^\w*: ?/, "")]),
      );
      const name = fields.get("event");
      if (name === undefined) continue;
      const data = JSON.parse(fields.get("data") ?? "") as Record<string, unknown>;
      return { id: Number(fields.get("id")), event: name, data };
    }
  };
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    block,
    next,
    /** All events until the stream ends. */
    async rest(): Promise<ReadEvent[]> {
      const events: ReadEvent[] = [];
      for (let event = await next(); event !== null; event = await next()) events.push(event);
      return events;
    },
    close: () => incoming.destroy(),
  };
}

/** A point at which a model waits until a test lets it go on. */
export function gate() {
  let open = () => {};
  let arrive = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  return { open, arrived, wait: () => (arrive(), opened) };
}
