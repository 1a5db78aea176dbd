import { connect } from "node:net";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createClientAddress, isLoopback } from "../../src/server/http/client-address.ts";
import { defineRoute } from "../../src/server/route.ts";
import { startApi } from "../helpers/api-server.ts";

/** Node checks the times of connections this often. */
const quick = { headersTimeoutMs: 50, requestTimeoutMs: 100, checkIntervalMs: 20 };
const head = (...lines: string[]) => `${lines.join("\r\n")}\r\n`;
const auth = "Authorization: Bearer sg_a_*";

describe("a connection", () => {
  it("that sends its headers too slowly is answered and closed", async () => {
    const api = await startApi({}, { limits: quick });
    const answer = await api.raw(head("GET /v1/agents HTTP/1.1", "Host: a", "X-Slow: a"));
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"type":"/problems/request_timeout"');
  });

  it("that sends its body too slowly is closed", async () => {
    const api = await startApi({}, { limits: quick });
    const lines = ["POST /v1/agents HTTP/1.1", "Host: a", auth, "Content-Type: application/json"];
    const answer = await api.raw(head(...lines, "Content-Length: 100", "", "{"));
    expect(answer).toMatch(/^HTTP\/1\.1 408 |^$/);
  });

  it.each([
    [431, "headers_too_large", head("GET / HTTP/1.1", "Host: a", `X: ${"a".repeat(20_000)}`, "")],
    [
      431,
      "headers_too_large",
      head(
        "GET / HTTP/1.1",
        "Host: a",
        ...Array.from({ length: 65 }, (_, at) => `X-${at}: 1`),
        "Connection: close",
        "",
      ),
    ],
    [400, "invalid_request", "what is this\r\n\r\n"],
    [400, "invalid_request", head("GET / HTTP/1.1", "Connection: close", "")],
    [400, "invalid_request", head("GET / HTTP/1.0", "")],
    [400, "invalid_request", head("GET / HTTP/1.1", "Host: a/b", "Connection: close", "")],
    [400, "invalid_request", head("GET http://[ HTTP/1.1", "Host: a", "Connection: close", "")],
    [400, "invalid_request", head("OPTIONS * HTTP/1.1", "Host: a", "Connection: close", "")],
    [400, "invalid_request", head("GET / HTTP/1.1", "Host: a", "Content-Length: x", "")],
    [
      400,
      "invalid_request",
      head("POST / HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer-Encoding: chunked", ""),
    ],
  ])("gets %i for what is no good request (case %#)", async (status, type, text) => {
    const api = await startApi();
    const answer = await api.raw(text);
    expect(answer.split(" ")[1]).toBe(String(status));
    expect(answer).toContain(`"type":"/problems/${type}"`);
    expect(answer.toLowerCase()).toContain("content-type: application/problem+json");
  });

  it("is closed after a body without end, of which only the limit is read", async () => {
    const api = await startApi({}, { limits: { maxBodyBytes: 1000 } });
    const lines = ["POST /v1/agents HTTP/1.1", "Host: a", auth, "Content-Type: application/json"];
    const chunk = `400\r\n${" ".repeat(1024)}\r\n`;
    const answer = await api.raw([head(...lines, "Transfer-Encoding: chunked", ""), chunk, chunk]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"type":"/problems/body_too_large"');
  });

  it("that breaks off in a body is no failure of the server", async () => {
    const api = await startApi();
    const socket = connect(api.listening.port, "127.0.0.1");
    const lines = ["POST /v1/agents HTTP/1.1", "Host: a", auth, "Content-Type: application/json"];
    const continued = head(...lines, "Expect: 100-continue", "Content-Length: 50", "");
    socket.write(continued);
    await once(socket, "data");
    socket.destroy();
    await vi.waitFor(() => {
      const statuses = api.logs
        .filter(({ method }) => method === "POST")
        .map((log) => log["status"]);
      expect(statuses).toEqual([400]);
    });
    expect(api.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("beyond the most connections is closed at once", async () => {
    const api = await startApi({}, { limits: { maxConnections: 1 } });
    const first = connect(api.listening.port, "127.0.0.1");
    await once(first, "connect");
    const second = connect(api.listening.port, "127.0.0.1");
    second.on("error", () => {});
    await new Promise((resolve) => second.on("close", resolve));
    expect(second.bytesRead).toBe(0);
    first.destroy();
  });
});

describe("a closing server", () => {
  it("finishes requests under way, takes no new ones, and closes its parts last", async () => {
    const order: string[] = [];
    let finish = () => {};
    let begun = () => {};
    const underWay = new Promise<void>((resolve) => (begun = resolve));
    const slow = defineRoute({
      method: "get",
      path: "/v1/slow",
      operationId: "slow",
      summary: "Slow.",
      tag: "probe",
      scopes: [],
      answers: { 200: { description: "ok", schema: z.unknown() } },
      handle: ({ signal }) =>
        new Promise((resolve) => {
          finish = () => {
            order.push(signal.aborted ? "aborted" : "answered");
            resolve({ status: 200, body: "done" });
          };
          begun();
        }),
    });
    const close = async () => void order.push("closed");
    const api = await startApi({ routes: [slow], close });
    const answer = api.send("GET", "/v1/slow");
    await underWay;
    const closing = api.server.close();
    const late = await api.server.fetch(new Request("http://127.0.0.1/v1/agents"));
    expect(late.status).toBe(503);
    expect(late.headers.get("retry-after")).toBe("5");
    finish();
    expect((await answer).text).toBe('"done"');
    await closing;
    expect(order).toEqual(["answered", "closed"]);
    await expect(api.server.listen({ port: 0 })).rejects.toMatchObject({ code: "server_closed" });
  });

  it("ends connections that are still open when its time is over", async () => {
    const api = await startApi();
    const socket = connect(api.listening.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("GET /v1/agents HTTP/1.1\r\n");
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.on("close", resolve));
    await api.server.close(1);
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it("says which address is taken", async () => {
    const api = await startApi();
    await expect(api.server.listen({ port: api.listening.port })).rejects.toMatchObject({
      code: "listen",
      message: expect.stringContaining("EADDRINUSE"),
    });
  });
});

describe("the address of a client", () => {
  it.each([
    ["203.0.113.9", null, [], "203.0.113.9"],
    ["203.0.113.9", "198.51.100.1", [], "203.0.113.9"],
    ["10.0.0.1", "198.51.100.1", ["10.0.0.0/8"], "198.51.100.1"],
    ["10.0.0.1", "1.1.1.1, 198.51.100.1", ["10.0.0.0/8"], "198.51.100.1"],
    ["10.0.0.1", "198.51.100.1, 10.2.0.1", ["10.0.0.0/8"], "198.51.100.1"],
    ["10.0.0.1", "what", ["10.0.0.0/8"], "10.0.0.1"],
    ["::ffff:10.0.0.1", "198.51.100.1", ["10.0.0.1"], "198.51.100.1"],
    ["fd00::1", "198.51.100.1", ["fd00::/8"], "198.51.100.1"],
  ])(
    "of a connection from %s with X-Forwarded-For %s behind %j is %s",
    (from, forwarded, trusted, client) => {
      expect(createClientAddress(trusted)(from, forwarded)).toBe(client);
    },
  );

  it.each(["proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::/129"])(
    "cannot be told behind %s",
    (proxy) => {
      expect(() => createClientAddress([proxy])).toThrow(
        expect.objectContaining({ code: "invalid_proxy" }),
      );
    },
  );

  it("is of this machine for loopback alone", () => {
    const names = ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1", "localhost"];
    expect(names.filter((name) => !isLoopback(name))).toEqual([]);
    const others = ["0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "127.0.0.1.nip.io", ""];
    expect(others.filter(isLoopback)).toEqual([]);
  });
});
