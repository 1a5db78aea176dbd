import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { serverSchema, type ServerSpec } from "../../../src/definition/schema/servers.ts";
import type { StatelessTool, ToolContext } from "../../../src/definition/tool/tool.ts";
import { freePort } from "../../helpers/free-port.ts";
import { names, toolNamed, useEverything, useToolServers } from "./use-servers.ts";

const setUp = useToolServers();
const everything = useEverything();

function remote(transport: "http" | "sse", endpoint: string, more: object = {}): ServerSpec {
  return serverSchema.parse({ name: "far", transport, endpoint, ...more });
}

function runs(tool: StatelessTool, args: unknown) {
  const { signal } = new AbortController();
  return Promise.resolve(tool.run(args, { signal } as ToolContext));
}

describe.each([
  ["http", "streamableHttp"],
  ["sse", "sse"],
] as const)("server-everything over %s", (transport, kind) => {
  it("lists its tools and answers calls", async () => {
    const { url } = await everything(kind);
    const { servers, call } = setUp();
    const found = await servers.connect(remote(transport, url));
    expect(names(found)).toContain("get-sum");
    expect(toolNamed(found, "echo").definition.transport).toEqual({
      type: transport,
      server: "far",
      endpoint: url,
    });
    expect((await call(found, "echo", { message: "hi" })).result).toBe("Echo: hi");
    expect((await call(found, "get-structured-content", { location: "Chicago" })).result).toEqual({
      temperature: 36,
      conditions: "Light rain / drizzle",
      humidity: 82,
    });
  });

  it("is reached again after it was restarted", async () => {
    const first = await everything(kind);
    const { servers, call } = setUp();
    const found = await servers.connect(remote(transport, first.url));
    await first.stop();
    await everything(kind, first.port);
    expect((await call(found, "echo", { message: "again" })).result).toBe("Echo: again");
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 1 }]);
  });

  it("is named where nothing listens any more, and the call may be made again", async () => {
    const server = await everything(kind);
    const { servers } = setUp();
    const found = await servers.connect(remote(transport, server.url));
    await server.stop();
    const tool = toolNamed(found, "echo") as StatelessTool;
    // The first may still meet the end of the connection, and then nobody knows how far it came.
    await expect(runs(tool, { message: "?" })).rejects.toMatchObject({ transient: true });
    // Over SSE, so does any that is under way when the end of the stream is seen; from then on none is sent.
    const sendsNone = () => transport !== "sse" || servers.status()[0]?.state === "restarting";
    await expect.poll(sendsNone).toBe(true);
    await expect(runs(tool, { message: "?" })).rejects.toMatchObject({
      transient: true,
      retryable: true,
      message: expect.stringMatching(/tool server "far".*ECONNREFUSED/),
    });
  });

  it("ends a call with an error where it dies in the middle", async () => {
    const server = await everything(kind);
    const { servers } = setUp();
    const found = await servers.connect(remote(transport, server.url));
    const tool = toolNamed(found, "trigger-long-running-operation") as StatelessTool;
    const long = runs(tool, { duration: 60, steps: 60 });
    long.catch(() => {});
    // The call is on its way once another one that was made after it is answered.
    await runs(toolNamed(found, "echo") as StatelessTool, { message: "hi" });
    await server.stop();
    await expect(long).rejects.toMatchObject({
      code: "server_died",
      server: "far",
      retryable: false,
    });
  });

  it("cannot be started where nothing listens", async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const { servers } = setUp();
    await expect(servers.connect(remote(transport, url))).rejects.toMatchObject({
      code: "server_start",
      transient: true,
      message: `The tool server "far" could not be started. ${url}: nothing listens at its address (ECONNREFUSED).`,
    });
  });
});

type Answer = (request: IncomingMessage, response: ServerResponse, message: Message) => void;

interface Message {
  readonly id?: number;
  readonly method?: string;
}

const running: Server[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server of streamable HTTP without streams, with one tool whose calls `onCall` answers; returns its address. */
async function httpServer(onCall: Answer, onAny: (request: IncomingMessage) => void = () => {}) {
  const server = createServer((request, response) => {
    onAny(request);
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
      if (message.id === undefined) response.writeHead(202).end();
      else if (message.method === "tools/call") onCall(request, response, message);
      else sendJson(response, { id: message.id, result: resultOf(message.method) });
    });
  }).listen(0, "127.0.0.1");
  running.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function sendJson(response: ServerResponse, message: object): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

function resultOf(method: string | undefined): object {
  if (method === "tools/list") return { tools: [{ name: "do", inputSchema: { type: "object" } }] };
  const serverInfo = { name: "small", version: "1.0.0" };
  return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
}

function done(response: ServerResponse, { id }: Message): void {
  sendJson(response, { id, result: { content: [{ type: "text", text: "done" }] } });
}

describe("a server behind HTTP", () => {
  it("gets the secrets of the moment with every request, and records keep the references", async () => {
    const seen: (string | undefined)[] = [];
    const url = await httpServer(
      (_, response, message) => done(response, message),
      (request) => seen.push(`${request.url} ${request.headers.authorization}`),
    );
    const secrets: Record<string, string> = { KEY: "first-key", PATH_KEY: "in-path" };
    const { servers, call } = setUp({ secrets });
    const endpoint = `${url}?key={{secret:PATH_KEY}}`;
    const found = await servers.connect(
      remote("http", endpoint, { headers: { authorization: "Bearer {{secret:KEY}}" } }),
    );
    expect(toolNamed(found, "do").definition.transport).toMatchObject({ endpoint });
    expect(new Set(seen)).toEqual(new Set(["/mcp?key=in-path Bearer first-key"]));
    secrets["KEY"] = "second-key";
    secrets["PATH_KEY"] = "new-path";
    expect((await call(found, "do")).outcome).toBe("success");
    expect(seen.at(-1)).toBe("/mcp?key=new-path Bearer second-key");
  });

  it("does not show a header's value that HTTP does not allow", async () => {
    const url = await httpServer((_, response, message) => done(response, message));
    const { servers } = setUp({ secrets: { KEY: "line\nbreak" } });
    const spec = remote("http", url, { headers: { authorization: "{{secret:KEY}}" } });
    await expect(servers.connect(spec)).rejects.toThrow(
      `${url}: its header authorization has a name or value that HTTP does not allow.`,
    );
  });

  it("is told by the status of its answer", async () => {
    const url = await httpServer((_, response) => response.writeHead(401).end("who are you?"));
    const { servers, call } = setUp();
    const found = await servers.connect(remote("http", url));
    expect(await call(found, "do")).toMatchObject({
      outcome: "error",
      error:
        'The server "far" did not carry out the call of its tool "do": HTTP 401 (who are you?); check the credentials in its headers.',
    });
  });

  it("loses a session once without the caller noticing", async () => {
    let calls = 0;
    const url = await httpServer((_, response, message) => {
      calls += 1;
      if (calls === 1) response.writeHead(404).end("no such session");
      else done(response, message);
    });
    const { servers, call } = setUp();
    const found = await servers.connect(remote("http", url));
    expect((await call(found, "do")).result).toBe("done");
    expect(calls).toBe(2);
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 1 }]);
  });

  it("that loses every session is named", async () => {
    const url = await httpServer((_, response) => response.writeHead(404).end());
    const { servers, call } = setUp();
    const found = await servers.connect(remote("http", url));
    expect((await call(found, "do")).error).toContain(
      "it does not know the session that it has just begun; check its endpoint.",
    );
  });

  it("ends a call with an error where its stream ends without the answer", async () => {
    const url = await httpServer((_, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.end(": nothing\n\n");
    });
    const { servers } = setUp();
    const found = await servers.connect(remote("http", url));
    await expect(runs(toolNamed(found, "do") as StatelessTool, {})).rejects.toMatchObject({
      code: "server_died",
      retryable: false,
      message:
        'The tool server "far" is gone. The answer broke off. Whether the call was carried out is not known.',
    });
  });

  it.each(["application/json", "text/event-stream"])(
    "costs one call where an answer of %s has 100 MB",
    async (type) => {
      let calls = 0;
      const url = await httpServer((_, response, message) => {
        calls += 1;
        if (calls > 1) {
          done(response, message);
          return;
        }
        response.setHeader("content-type", type);
        response.on("error", () => {});
        response.write(type === "application/json" ? '{"a":"' : "data: ");
        const mebibyte = Buffer.alloc(1024 * 1024, "x");
        for (let at = 0; at < 100; at += 1) response.write(mebibyte);
        response.end("\n\n");
      });
      const { servers, call } = setUp();
      const found = await servers.connect(remote("http", url));
      expect(await call(found, "do")).toMatchObject({
        outcome: "error",
        error: expect.stringContaining("its answer has more than 64 MiB."),
      });
      expect((await call(found, "do")).outcome).toBe("success");
    },
  );

  it("is refused where its address with the secrets is none", async () => {
    const { servers } = setUp({ secrets: { HOST: "::not a host::" } });
    await expect(servers.connect(remote("http", "http://{{secret:HOST}}/mcp"))).rejects.toThrow(
      "http://{{secret:HOST}}/mcp is no URL with its secrets filled in.",
    );
  });
});
