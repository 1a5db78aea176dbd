import { describe, expect, it } from "vitest";
import { startApi, tenantA } from "../helpers/api-server.ts";

const development = { authentication: { development: { tenantId: tenantA } } } as const;

describe("a key", () => {
  it.each(["sg_unknown", "sg_expired", "sg_revoked", "sg_suspended", "x".repeat(5000), "é"])(
    "that is refused gets one and the same answer (case %#)",
    async (key) => {
      const api = await startApi();
      const without = await api.send("GET", "/v1/agents", { key: null });
      const headers: Record<string, string> =
        key === "é" ? { authorization: "Basic abc" } : { "x-api-key": key };
      const refused = await api.send("GET", "/v1/agents", { key: null, headers });
      const { instance: _, ...expected } = without.json;
      expect(refused.status).toBe(401);
      expect(refused.json).toMatchObject(expected);
      expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="stratagraph"');
    },
  );

  it("is taken from X-Api-Key as well", async () => {
    const api = await startApi();
    const headers = { "x-api-key": "sg_a_agents:read" };
    expect((await api.send("GET", "/v1/agents", { key: null, headers })).status).toBe(200);
  });

  it("opens exactly the routes of its scopes", async () => {
    const api = await startApi();
    const created = await api.send("POST", "/v1/agents", { body: { name: "one" } });
    const own = api.server.routes.filter(({ scopes }) => scopes !== "public");
    expect(own.length).toBeGreaterThan(6);
    for (const { method, path, scopes } of own) {
      const url = path.replace("{agent_id}", String(created.json["id"]));
      const body = method === "post" || method === "patch" ? {} : undefined;
      for (const scope of ["agents:read", "agents:write", "runs:read", "admin"]) {
        const { status, json } = await api.send(method.toUpperCase(), url, {
          key: `sg_a_${scope}`,
          body,
        });
        // Without scopes, a route is for every key.
        const isIn = scopes.length === 0 || (scopes as readonly string[]).includes(scope);
        expect([method, path, scope, status === 403]).toEqual([method, path, scope, !isIn]);
        expect(json["missing_scopes"] ?? null).toEqual(isIn ? null : scopes);
      }
    }
  });

  it("that is refused too often from one address is not looked up for a while", async () => {
    const api = await startApi({}, { rates: { refusedKeys: { perMinute: 1, burst: 2 } } });
    const statuses = [];
    for (let index = 0; index < 3; index += 1)
      statuses.push((await api.send("GET", "/v1/agents", { key: "sg_unknown" })).status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  it("is in no log, and neither are query values and bodies", async () => {
    const api = await startApi();
    await api.send("GET", "/v1/agents?name=secretname", { key: "sg_unknown_secret" });
    await api.send("POST", "/v1/agents", { body: { name: "secretbody" } });
    const logged = JSON.stringify(api.logs);
    expect(logged).toContain('"route":"/v1/agents"');
    expect(logged).not.toMatch(/secretname|secretbody|unknown_secret/);
  });
});

describe("a server without keys", () => {
  it("gives callers of this machine the default tenant and all scopes", async () => {
    const api = await startApi(development);
    expect((await api.send("GET", "/v1/agents", { key: null })).status).toBe(200);
  });

  it.each(["0.0.0.0", "::", "192.0.2.1", "example.com"])(
    "refuses to listen on %s",
    async (host) => {
      const { server } = await startApi(development);
      await expect(server.listen({ host, port: 0 })).rejects.toMatchObject({
        code: "unprotected_server",
      });
    },
  );

  it("answers no client of another machine", async () => {
    const { server } = await startApi(development);
    const incoming = { socket: { remoteAddress: "192.0.2.7" } };
    const response = await server.fetch(new Request("http://localhost/v1/agents"), { incoming });
    expect(response.status).toBe(401);
  });

  it.each([
    ["forbidden_host", { host: "rebound.example.com" }],
    ["forbidden_host", { host: "127.0.0.1.example.com" }],
    ["forbidden_origin", { origin: "https://evil.example.com" }],
    ["forbidden_origin", { origin: "null" }],
    ["forbidden_origin", { "sec-fetch-site": "cross-site" }],
  ] as const)("refuses what web pages send: %s %j", async (type, headers) => {
    const api = await startApi(development, { corsOrigins: ["*"] });
    const answer = await api.send("GET", "/v1/agents", { key: null, headers });
    expect([answer.status, answer.json["type"]]).toEqual([403, `/problems/${type}`]);
  });

  it("lets links of other sites lead to its page, and to nothing else", async () => {
    const api = await startApi(development);
    const answers = [
      ["/inspector/threads", "document"],
      ["/inspector/threads", "iframe"],
      ["/inspector/assets/x.js", "script"],
      ["/v1/agents", "document"],
    ].map(([path = "", dest = ""]) => {
      const headers = { "sec-fetch-site": "cross-site", "sec-fetch-dest": dest };
      return api.send("GET", path, { key: null, headers });
    });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 403, 403, 403]);
  });

  it.each<Record<string, string>>([
    { host: "localhost:1" },
    { host: "[::1]:1" },
    { host: "a.test", origin: "http://a.test" },
  ])("answers to %j", async (headers) => {
    const api = await startApi(development, { allowedHosts: ["a.test"] });
    expect((await api.send("GET", "/v1/agents", { key: null, headers })).status).toBe(200);
  });
});

describe("CORS", () => {
  const origin = "https://app.example.com";
  const preflight = { origin, "access-control-request-method": "POST" };

  it("is off unless origins are listed", async () => {
    const api = await startApi();
    const answer = await api.send("GET", "/v1/agents", { headers: { origin } });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect((await api.send("OPTIONS", "/v1/agents", { headers: preflight })).status).toBe(403);
  });

  it("lets listed origins in, without credentials", async () => {
    const api = await startApi({}, { corsOrigins: [origin] });
    const asked = await api.send("OPTIONS", "/v1/agents", { key: null, headers: preflight });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-methods")).toBe("POST, GET, HEAD");
    const answer = await api.send("GET", "/v1/agents", { key: null, headers: { origin } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    const other = await api.send("GET", "/v1/agents", {
      headers: { origin: "https://b.example.com" },
    });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });
});
