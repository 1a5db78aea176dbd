import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createServer, type PlatformServer } from "../../src/create-server.ts";
import { defineRoute } from "../../src/server/route.ts";
import { startApi, type TestApi, tenantA } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

const development = { authentication: { development: { tenantId: tenantA } } } as const;
const head = (...lines: string[]) => `${lines.join("\r\n")}\r\n`;
const host = "Host: localhost";
const json = "Content-Type: application/json";
const auth = "Authorization: Bearer sg_a_*";

/** Status codes of the answers in what a connection received. */
const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Log lines of requests, apart from that of the helper which reads the document. */
const logged = ({ logs }: TestApi) =>
  logs.filter(({ route }) => route !== undefined && route !== "/v1/openapi.json");

/** A route that answers when `wait` has ended. */
const slowRoute = (wait: () => Promise<void>) =>
  defineRoute({
    method: "get",
    path: "/v1/slow",
    operationId: "slow",
    summary: "Slow.",
    tag: "probe",
    scopes: "public",
    answers: { 200: { description: "ok", schema: z.unknown() } },
    handle: async () => {
      await wait();
      return { status: 200, body: "done" };
    },
  });

describe("a slow client", () => {
  /** Node checks the times of connections this often. */
  const quick = {
    headersTimeoutMs: 50,
    requestTimeoutMs: 100,
    keepAliveTimeoutMs: 1,
    readTimeoutMs: 50,
    checkIntervalMs: 20,
  };

  /** Sends a beginning, then one byte after the other until the connection is closed. Returns what was received. */
  function dribble(port: number, beginning: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      const timer = setInterval(() => socket.write("1"), 2);
      let received = "";
      socket.write(beginning);
      socket.on("data", (chunk) => (received += String(chunk)));
      socket.on("error", () => {}); // Closed while it sends.
      socket.on("close", () => {
        clearInterval(timer);
        resolve(received);
      });
    });
  }

  const quickHeaders = { ...quick, requestTimeoutMs: 60_000 };

  it("that sends its headers byte by byte is answered with 408 and closed", async () => {
    const api = await startApi({}, { limits: quickHeaders });
    const received = await dribble(
      api.listening.port,
      head("GET / HTTP/1.1", host, "X-Slow: 1").trimEnd(),
    );
    expect(received).toMatch(/^HTTP\/1\.1 408 |^$/);
    expect(logged(api)).toEqual([]);
  });

  it.each([
    ["with a key", "/v1/agents", auth],
    ["with a key that is refused", "/v1/agents", "Authorization: Bearer sg_none"],
    ["to a route that is not there", "/v1/none", auth],
  ])("that sends its body byte by byte, %s, is closed", async (_what, path, key) => {
    const api = await startApi({}, { limits: quick });
    for (const length of ["Content-Length: 1000000", "Transfer-Encoding: chunked"]) {
      const beginning = head(`POST ${path} HTTP/1.1`, host, key, json, length, "");
      const start = length.startsWith("T") ? "fffff\r\n" : "";
      const statuses = statusesIn(await dribble(api.listening.port, beginning + start));
      expect(statuses.filter((status) => status < 400)).toEqual([]);
    }
  });

  it("that sends nothing is closed", async () => {
    const api = await startApi({}, { limits: quickHeaders });
    expect(await api.raw("")).toMatch(/^HTTP\/1\.1 408 |^$/);
  });

  it("that is idle after an answer is closed", async () => {
    const api = await startApi({}, { limits: quick });
    expect(statusesIn(await api.raw(head("GET /healthz HTTP/1.1", host, "")))).toEqual([200]);
  });

  it("that reads nothing of its answer loses its connection", async () => {
    const large = defineRoute({
      method: "get",
      path: "/v1/large",
      operationId: "large",
      summary: "Large.",
      tag: "probe",
      scopes: "public",
      answers: { 200: { description: "ok", schema: z.string() } },
      handle: async () => ({ status: 200, body: "a".repeat(30_000_000) }),
    });
    const limits = { ...quick, maxConnections: 1 };
    const api = await startApi({ routes: [large] }, { limits });
    const socket = connect(api.listening.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write(head("GET /v1/large HTTP/1.1", host, ""));
    await vi.waitFor(() => expect(logged(api)).toHaveLength(1), 60_000);
    // There is room for another one when it is gone.
    await vi.waitFor(async () => {
      expect((await api.send("GET", "/healthz", { key: null })).status).toBe(200);
    }, 60_000);
    socket.destroy();
  });
});

it("a client that waits for a slow answer behind a fast one keeps its connection", async () => {
  let finish = () => {};
  const slow = slowRoute(() => new Promise<void>((resolve) => (finish = resolve)));
  const api = await startApi({ routes: [slow] }, { limits: { readTimeoutMs: 10 } });
  const pipelined = [
    head("GET /healthz HTTP/1.1", host, ""),
    head("GET /v1/slow HTTP/1.1", host, "Connection: close", ""),
  ];
  const received = api.raw(pipelined.join(""));
  // Many times as long as the client of a complete answer would have.
  for (let index = 0; index < 30; index += 1) await api.send("GET", "/healthz", { key: null });
  finish();
  expect(statusesIn(await received)).toEqual([200, 200]);
});

describe("a request that two servers could read differently", () => {
  const inner = head("GET /v1/docs HTTP/1.1", host, "");
  const post = ["POST /v1/agents HTTP/1.1", host, auth, json];
  const chunked = "Transfer-Encoding: chunked";

  it.each([
    ["two lengths", head(...post, "Content-Length: 2", "Content-Length: 60", "") + `{}${inner}`],
    ["a list of lengths", head(...post, "Content-Length: 2, 60", "") + `{}${inner}`],
    ["a signed length", head(...post, "Content-Length: +2", "") + `{}${inner}`],
    ["both, chunked first", head(...post, chunked, "Content-Length: 4", "") + `0\r\n\r\n${inner}`],
    ["an encoding that is not known", head(...post, "Transfer-Encoding: xchunked", "") + inner],
    ["chunked that is not the last", head(...post, `${chunked}, identity`, "") + inner],
    ["two encodings", head(...post, chunked, "Transfer-Encoding: identity", "") + inner],
    ["a space before the colon", head(...post, "Transfer-Encoding : chunked", "") + inner],
    ["a folded header", head(...post, "X-A: a", ` ${chunked}`, "") + inner],
    ["bare line feeds", `GET /healthz HTTP/1.1\n${host}\n\n${inner}`],
    ["a bare carriage return", head("GET /healthz HTTP/1.1", host, `X-A: a\r${chunked}`, "")],
    ["a NUL", head("GET /healthz HTTP/1.1", host, "X-A: a\0b", "") + inner],
    ["a hexadecimal prefix", head(...post, chunked, "") + `0x2\r\n{}\r\n0\r\n\r\n${inner}`],
    ["chunks with bare line feeds", head(...post, chunked, "") + `2\n{}\n0\n\n${inner}`],
    ["a chunk longer than it says", head(...post, chunked, "") + `2\r\n{}XX0\r\n\r\n${inner}`],
    ["an extension of 20 KB", head(...post, chunked, "") + `2;${"a".repeat(20_000)}\r\n{}`],
    ["HTTP/2 in clear text", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a version that is not known", head("GET /healthz HTTP/1.2", host, "") + inner],
  ])("is refused, with all that follows it: %s", async (_what, text) => {
    const api = await startApi();
    const received = await api.raw(text);
    expect(statusesIn(received)).toEqual([400]);
    expect(received.toLowerCase()).toMatch(/^connection: close\r$/m);
    expect(logged(api).filter(({ status }) => Number(status) < 400)).toEqual([]);
  });

  it("has a body that is no further request", async () => {
    const api = await startApi();
    const length = `Content-Length: ${inner.length}`;
    for (const path of ["/healthz", "/v1/none"]) {
      const lines = [`GET ${path} HTTP/1.1`, host, "Connection: close", length, ""];
      expect(statusesIn(await api.raw(head(...lines) + inner))).toHaveLength(1);
    }
    expect(logged(api).map(({ route }) => route)).toEqual(["/healthz", "unmatched"]);
  });

  it.each([
    ["TRACE", 405],
    ["OPTIONS", 405],
  ])("gets no service from the method %s", async (method, status) => {
    const api = await startApi();
    const lines = [`${method} /healthz HTTP/1.1`, host, "Connection: close", ""];
    expect(statusesIn(await api.raw(head(...lines)))).toEqual([status]);
  });

  it("cannot make the server a proxy", async () => {
    const api = await startApi();
    expect(await api.raw(head("CONNECT example.com:80 HTTP/1.1", host, ""))).toBe("");
    const lines = ["GET http://example.com/v1/none HTTP/1.1", host, "Connection: close", ""];
    expect(statusesIn(await api.raw(head(...lines)))).toEqual([404]);
  });

  it("may expect anything", async () => {
    const api = await startApi();
    const lines = ["GET /healthz HTTP/1.1", host, "Expect: gold", "Connection: close", ""];
    const received = await api.raw(head(...lines));
    expect(statusesIn(received)).toEqual([200]);
    expect(received.toLowerCase()).toContain("x-content-type-options: nosniff");
  });
});

describe("a web page, on a server without keys", () => {
  it.each([
    ["text/plain", { origin: "https://evil.example.com" }],
    ["application/x-www-form-urlencoded", { origin: "http://localhost.evil.example.com" }],
    ["multipart/form-data; boundary=a", { origin: "null" }],
    ["application/json", { origin: "http://localhost:1" }],
    ["text/plain", { "sec-fetch-site": "cross-site" }],
  ])("writes nothing with a form of %s and %j", async (type, headers) => {
    const api = await startApi(development, { corsOrigins: ["*"] });
    const sent = { ...headers, "content-type": type };
    const answer = await api.send("POST", "/v1/agents", {
      key: null,
      body: { name: "own" },
      headers: sent,
    });
    expect([answer.status, answer.json["type"]]).toEqual([403, "/problems/forbidden_origin"]);
    const { json: listed } = await api.send("GET", "/v1/agents", { key: null });
    expect(listed["agents"]).toEqual([]);
  });

  it("gets no answer to a preflight request", async () => {
    const api = await startApi(development, { corsOrigins: ["*"] });
    const answer = await api.send("OPTIONS", "/v1/agents", {
      key: null,
      headers: { origin: "https://evil.example.com", "access-control-request-method": "PATCH" },
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  it.each([
    ["GET /v1/agents HTTP/1.1", "Host: localhost."],
    ["GET /v1/agents HTTP/1.1", "Host: localhost.evil.example.com"],
    ["GET /v1/agents HTTP/1.1", "Host: 0.0.0.0"],
    ["GET /v1/agents HTTP/1.1", "Host: 2130706433"],
    ["GET /v1/agents HTTP/1.1", "Host: localhost", "Host: evil.example.com"],
    ["GET /v1/agents HTTP/1.1", "Host: evil.example.com", "X-Forwarded-Host: localhost"],
    ["GET http://localhost/v1/agents HTTP/1.1", "Host: evil.example.com"],
  ])("reads nothing through a name of its own: %s, %s %s", async (...lines) => {
    const api = await startApi(development);
    const received = await api.raw(head(...lines, "Connection: close", ""));
    expect(statusesIn(received)).toEqual([403]);
    expect(received).toContain("/problems/forbidden_host");
  });
});

describe("a web page, on a server with keys and all origins", () => {
  it("needs a key, and gets no credentials", async () => {
    const api = await startApi({}, { corsOrigins: ["*"] });
    const origin = "https://any.example.com";
    const headers = { origin, "access-control-request-method": "POST" };
    const asked = await api.send("OPTIONS", "/v1/agents", { key: null, headers });
    expect(asked.status).toBe(204);
    const answer = await api.send("GET", "/v1/agents", { key: null, headers: { origin } });
    expect(answer.status).toBe(401);
    for (const { headers: sent } of [asked, answer]) {
      expect(sent.get("access-control-allow-origin")).toBe(origin);
      expect(sent.get("access-control-allow-credentials")).toBeNull();
      expect(sent.get("vary")).toBe("Origin");
    }
  });
});

describe("X-Forwarded-For", () => {
  const rates = { refusedKeys: { perMinute: 1, burst: 1 } };
  const guess = async (api: TestApi, forwardedFor: string) => {
    const headers = { "x-forwarded-for": forwardedFor };
    return (await api.send("GET", "/v1/agents", { key: "sg_unknown", headers })).status;
  };

  it("of a client does not spare it the limit of refused keys", async () => {
    const api = await startApi({}, { rates });
    const statuses = [];
    for (const one of ["192.0.2.1", "192.0.2.2"]) statuses.push(await guess(api, one));
    expect(statuses).toEqual([401, 429]);
  });

  it("of a trusted proxy tells clients apart, whatever they wrote themselves", async () => {
    const api = await startApi({}, { rates, trustedProxies: ["127.0.0.1"] });
    const statuses = [];
    for (const one of ["192.0.2.1", "192.0.2.2", "198.51.100.9, 192.0.2.1", "127.0.0.1,192.0.2.2"])
      statuses.push(await guess(api, one));
    expect(statuses).toEqual([401, 401, 429, 429]);
  });

  it("makes no client one of this machine", async () => {
    const api = await startApi({}, { trustedProxies: ["127.0.0.1"], metricsFor: "loopback" });
    const read = async (forwardedFor: string) => {
      const headers = { "x-forwarded-for": forwardedFor };
      return (await api.send("GET", "/metrics", { key: null, headers })).status;
    };
    expect(await read("192.0.2.1")).toBe(404);
    expect(await read("127.0.0.1, 192.0.2.1")).toBe(404);
    const open = await startApi(development, { trustedProxies: ["127.0.0.1"] });
    const headers = { "x-forwarded-for": "127.0.0.1, 192.0.2.1" };
    expect((await open.send("GET", "/v1/agents", { key: null, headers })).status).toBe(401);
  });
});

interface KeptAnswer {
  readonly status: number;
  readonly text: string;
  readonly isReused: boolean;
  readonly connection: string | undefined;
}

/** Sends requests over one connection that stays open. */
function keptConnection(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return (
    method: string,
    path: string,
    { key, body = "", headers = {} }: { key?: string; body?: string; headers?: object } = {},
  ): Promise<KeptAnswer> =>
    new Promise((resolve, reject) => {
      const sent = {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== "" && {
          "content-type": "application/json",
          "content-length": String(body.length),
        }),
        ...headers,
      };
      const options = { method, path, port, host: "127.0.0.1", agent, headers: sent };
      const outgoing = httpRequest(options, (incoming) => {
        let text = "";
        incoming.on("data", (chunk) => (text += String(chunk)));
        incoming.on("end", () =>
          resolve({
            status: incoming.statusCode ?? 0,
            text,
            isReused: outgoing.reusedSocket,
            connection: incoming.headers.connection,
          }),
        );
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
}

const agents: Agent[] = [];

afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy();
});

describe.each(drawDatabases(import.meta.url))("clients of a server on %s", (kind) => {
  const database = useDatabase(kind);
  const servers: PlatformServer[] = [];

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });

  async function start() {
    const server = await createServer({ database: database.shared });
    servers.push(server);
    const { tenants, apiKeys } = server.platform;
    const tenant = await tenants.create({ name: `tenant ${crypto.randomUUID()}` });
    const made = await apiKeys.create({ tenantId: tenant.id, name: "a", scopes: ["*"] });
    const { port } = await server.listen({ port: 0 });
    return { server, tenant, made, port };
  }

  it.skipIf(!database.available)(
    "lose their key between two requests of one connection",
    async () => {
      const { server, tenant, made, port } = await start();
      const send = keptConnection(port);
      const key = made.secret;
      expect((await send("GET", "/v1/agents", { key })).status).toBe(200);
      await server.platform.apiKeys.revoke(tenant.id, made.key.id);
      const refused = await send("GET", "/v1/agents", { key });
      expect([refused.status, refused.isReused]).toEqual([401, true]);
    },
  );

  it.skipIf(!database.available)(
    "create one agent with 20 requests at once under one Idempotency-Key",
    async () => {
      const { server, tenant, made, port } = await start();
      const body = JSON.stringify({ name: "raced" });
      const headers = { "idempotency-key": "one" };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          keptConnection(port)("POST", "/v1/agents", { key: made.secret, body, headers }),
        ),
      );
      const created = answers.filter(({ status }) => status === 201);
      expect(created.length).toBeGreaterThan(0);
      expect(new Set(created.map(({ text }) => text)).size).toBe(1);
      for (const { text } of answers.filter(({ status }) => status !== 201))
        expect(JSON.parse(text)).toMatchObject({
          status: 409,
          type: "/problems/request_in_progress",
        });
      const { items } = await server.platform.agents.list(tenant.id);
      expect(items).toHaveLength(1);
      const { items: audited } = await server.platform.audit.list(tenant.id);
      expect(audited.map(({ action }) => action)).toEqual(["agent.create"]);
    },
  );
});

describe("a server that shuts down", () => {
  it("answers what is under way, refuses what follows on the same connection, and closes it", async () => {
    let finish = () => {};
    let begun = () => {};
    const underWay = new Promise<void>((resolve) => (begun = resolve));
    const slow = slowRoute(() => {
      begun();
      return new Promise<void>((resolve) => (finish = resolve));
    });
    const api = await startApi({ routes: [slow] });
    const socket = connect(api.listening.port, "127.0.0.1");
    const closed = once(socket, "close");
    let received = "";
    socket.on("data", (chunk) => (received += String(chunk)));
    // The second request is there before the first is answered.
    socket.write(head("GET /v1/slow HTTP/1.1", host, ""));
    await underWay;
    const closing = api.server.close(60_000);
    socket.write(head("GET /v1/agents HTTP/1.1", host, auth, ""));
    const statuses = () => logged(api).map(({ status }) => status);
    await vi.waitFor(() => expect(statuses()).toContain(503), 60_000);
    finish();
    await closing;
    await closed;
    expect(statusesIn(received)[0]).toBe(200);
    expect(received).toContain('"done"');
    expect(received.toLowerCase()).toMatch(/^connection: close\r$/m);
    const late = connect(api.listening.port, "127.0.0.1");
    const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("ECONNREFUSED");
  });

  it("does not wait for a connection without a request", async () => {
    const limits = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 };
    const api = await startApi({}, { limits });
    const socket = connect(api.listening.port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = once(socket, "close");
    await once(socket, "connect");
    // The server has accepted it before one that comes later.
    await api.send("GET", "/healthz", { key: null });
    await api.server.close(600_000);
    await closed;
    expect(socket.bytesRead).toBe(0);
  });
});
