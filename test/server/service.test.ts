import { describe, expect, it } from "vitest";
import { startApi, tenantA } from "../helpers/api-server.ts";

const development = { authentication: { development: { tenantId: tenantA } } } as const;

describe("the document", () => {
  it("is OpenAPI 3.1 with every route, its scopes, its key and its problems", async () => {
    const api = await startApi();
    const { json } = await api.send("GET", "/v1/openapi.json", { key: null });
    expect(json).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
    const paths = json["paths"] as Record<string, Record<string, Record<string, unknown>>>;
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const routed = api.server.app.routes
      .filter(({ method, path }) => method !== "ALL" || path !== "/*")
      // A page, not a part of the API.
      .filter(({ path }) => !/^\/inspector(?:\/|$)/.test(path))
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(listed.toSorted()).toEqual([...new Set(routed)].toSorted());
    for (const { method, path, scopes } of api.server.routes) {
      const operation = paths[path]?.[method];
      expect(operation?.["x-scopes"]).toEqual(scopes === "public" ? undefined : scopes);
      expect(operation?.["security"]).toEqual(scopes === "public" ? [] : [{ key: [] }]);
      const responses = Object.keys(operation?.["responses"] as object);
      expect(responses).toEqual(expect.arrayContaining(["400", "429", "500", "503"]));
    }
  });

  it("refers to nothing that it does not have", async () => {
    const api = await startApi();
    const { text, json } = await api.send("GET", "/v1/openapi.json", { key: null });
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref);
    expect(references.length).toBeGreaterThan(10);
    for (const reference of new Set(references)) {
      const parts = reference.replace(/^#\//, "").split("/");
      const found = parts.reduce<unknown>(
        (at, part) => (at as Record<string, unknown>)?.[part],
        json,
      );
      expect([reference, typeof found]).toEqual([reference, "object"]);
    }
  });

  it("is a page without scripts, under a policy that allows none", async () => {
    const api = await startApi();
    const { text, headers } = await api.send("GET", "/v1/docs", { key: null });
    expect(text).toContain("POST /v1/agents");
    expect(text).not.toMatch(/<script|<\w[^>]*\son\w+=|(?:src|href)="(?!\/)/i);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
  });
});

describe("the process", () => {
  it("is alive without a key, with the headers of every answer", async () => {
    const api = await startApi();
    const { status, json, headers } = await api.send("GET", "/healthz", { key: null });
    expect([status, json]).toEqual([200, { status: "ok" }]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; frame-ancestors 'none'",
    );
  });

  it("is ready while its parts are, and it is not closing", async () => {
    let works = true;
    const check = () => (works ? Promise.resolve() : Promise.reject(new Error("secret reason")));
    const api = await startApi({ readiness: [{ name: "database", check }] });
    expect((await api.send("GET", "/readyz", { key: null })).json).toEqual({
      status: "ready",
      checks: { database: "ok", accepting: "ok" },
    });
    works = false;
    const failed = await api.send("GET", "/readyz", { key: null });
    expect([failed.status, failed.json["checks"]]).toEqual([
      503,
      { database: "failed", accepting: "ok" },
    ]);
    works = true;
    await api.server.close(0);
    const closing = await api.server.fetch(new Request("http://127.0.0.1/readyz"));
    expect(await closing.json()).toMatchObject({ checks: { accepting: "failed" } });
  });

  it("counts requests by route pattern, never by path, tenant or key", async () => {
    const api = await startApi();
    await api.send("GET", "/v1/agents/some-secret-id");
    await api.send("GET", "/unknown/some-secret-path");
    api.server.metrics.addSource(async () => [
      { name: "stratagraph_runs", help: "Runs.", value: 3, labels: { state: 'a"b' } },
    ]);
    const { text } = await api.send("GET", "/metrics", { key: "sg_a_admin" });
    expect(text).toContain(
      'stratagraph_http_requests_total{route="/v1/agents/{agent_id}",method="GET",status="404"} 1\n',
    );
    expect(text).toContain('{route="unmatched",method="GET",status="404"} 1\n');
    expect(text).toContain('stratagraph_runs{state="a\\"b"} 3\n');
    expect(text).toMatch(/duration_seconds_bucket\{[^}]*le="\+Inf"\} 1\n/);
    expect(text).not.toMatch(/secret|sg_a|000a/);
  });

  it("gives its metrics to keys of operators, or to this machine", async () => {
    const api = await startApi();
    expect((await api.send("GET", "/metrics", { key: null })).status).toBe(401);
    expect((await api.send("GET", "/metrics", { key: "sg_a_agents:read" })).status).toBe(403);
    const local = await startApi(development);
    expect((await local.send("GET", "/metrics", { key: null })).status).toBe(200);
  });

  it.each([
    ["trace-1.a:b", "trace-1.a:b"],
    ["a b", expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ["a".repeat(129), expect.stringMatching(/^[0-9a-f-]{36}$/)],
  ])("takes over a request id that is one (case %#)", async (given, id) => {
    const api = await startApi();
    const { headers } = await api.send("GET", "/healthz", { headers: { "x-request-id": given } });
    expect(headers.get("x-request-id")).toEqual(id);
    expect(api.logs).toContainEqual(expect.objectContaining({ request_id: id, route: "/healthz" }));
  });
});
