import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import { startApi } from "../helpers/api-server.ts";

describe("an app with the API in it", () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  /** Listens, and returns a function that asks. */
  async function listen(app: Hono) {
    const url = await new Promise<string>((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
        resolve(`http://127.0.0.1:${port}`),
      );
      closers.push(() => new Promise((done) => void server.close(() => done())));
    });
    return (path: string, init: { method?: string; body?: string; headers?: object } = {}) =>
      fetch(`${url}${path}`, { ...init, headers: { connection: "close", ...init.headers } });
  }
  const key = { authorization: "Bearer sg_a_*" };

  it.each(["", "/api"])(
    "answers its own routes under %j, and leaves others alone",
    async (base) => {
      const { server, logs } = await startApi();
      const app = new Hono();
      app.route(base === "" ? "/" : base, server.app);
      app.get("/hello", (context) => context.text("Hello"));
      app.notFound((context) => context.text("Nothing here", 404));
      const ask = await listen(app);

      const agents = await ask(`${base}/v1/agents`, { headers: key });
      expect(await agents.json()).toEqual({ agents: [], next_cursor: null });
      expect(agents.headers.get("x-request-id")).not.toBeNull();
      const refused = await ask(`${base}/v1/agents`);
      expect([refused.status, refused.headers.get("content-type")]).toEqual([
        401,
        "application/problem+json",
      ]);
      const unread = await ask(`${base}/v1/agents`, { method: "POST", body: "{", headers: key });
      expect(await unread.json()).toMatchObject({ type: "/problems/unsupported_media_type" });

      const hello = await ask("/hello");
      expect(await hello.text()).toBe("Hello");
      expect(hello.headers.get("x-request-id")).toBeNull();
      expect(hello.headers.get("content-security-policy")).toBeNull();
      const none = await ask("/nothing");
      expect([none.status, await none.text()]).toEqual([404, "Nothing here"]);
      expect(logs.filter(({ route }) => route === "/v1/agents")).toHaveLength(3);
    },
  );

  it.each(["/v1/agents", "/%761/agents", "/api/v1/agents", "/api/%76%31/agents"])(
    "refuses requests of other hosts and origins without keys at %s",
    async (path) => {
      const { server } = await startApi({ authentication: { development: { tenantId: tenant } } });
      const app = new Hono();
      app.route("/", server.app);
      app.route("/api", server.app);
      for (const header of [
        ["host", "evil.example"],
        ["origin", "https://evil.example"],
      ] as const) {
        const request = new Request(`http://127.0.0.1${path}`, { headers: [[...header]] });
        const { status } = await app.fetch(request, loopback);
        expect([header, status]).toEqual([header, 403]);
      }
      expect((await app.fetch(new Request(`http://127.0.0.1${path}`), loopback)).status).toBe(200);
    },
  );
  const tenant = "00000000-0000-7000-8000-00000000000a";
  const loopback = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
});
