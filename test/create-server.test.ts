import { describe, expect, it } from "vitest";
import { createServer } from "../src/create-server.ts";
import type { PlatformServer, ServerOptions } from "../src/create-server.ts";
import { useDatabase } from "./helpers/databases.ts";

describe.each(["pglite", "postgres"] as const)("a server on %s", (kind) => {
  const database = useDatabase(kind);

  async function withServer(
    options: ServerOptions,
    use: (server: PlatformServer) => Promise<void>,
  ): Promise<void> {
    const server = await createServer({ database: database.shared, ...options });
    try {
      await use(server);
    } finally {
      await server.close(0);
    }
  }

  const ask = async (server: PlatformServer, path: string, init: RequestInit = {}) => {
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    return {
      status: response.status,
      json: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>,
      headers: response.headers,
    };
  };

  it.skipIf(!database.available)(
    "identifies tenants by stored keys, until they are revoked",
    async () => {
      await withServer({}, async (server) => {
        const { tenants, apiKeys, audit, usage } = server.platform;
        const tenant = await tenants.create({ name: `one ${kind}` });
        const scopes = ["agents:read", "agents:write"];
        const { key, secret } = await apiKeys.create({ tenantId: tenant.id, name: "a", scopes });
        const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
        const body = JSON.stringify({ name: "helper", tools: ["calculator"] });
        const init = { method: "POST", body, headers: { ...headers, "idempotency-key": "1" } };
        const created = await ask(server, "/v1/agents", init);
        expect(created).toMatchObject({ status: 201, json: { name: "helper", version: "1.0.0" } });
        const replayed = await ask(server, "/v1/agents", init);
        expect(replayed.json).toEqual(created.json);
        expect(replayed.headers.get("idempotency-replayed")).toBe("true");

        const path = `/v1/agents/${String(created.json["id"])}`;
        const change = { method: "PATCH", body: '{"description":"Helps."}', headers };
        expect((await ask(server, path, change)).json["version"]).toBe("1.0.1");
        const stale = { ...change, headers: { ...headers, "if-match": '"1.0.0"' } };
        expect((await ask(server, path, stale)).status).toBe(412);
        const drawn = await ask(server, `${path}/graph`, { headers });
        expect(drawn.json["mermaid"]).toMatch(/^(?:---|%%|flowchart|graph)/);
        const { items } = await audit.list(tenant.id);
        expect(items.map(({ action }) => action)).toEqual(["agent.update", "agent.create"]);

        await apiKeys.revoke(tenant.id, key.id);
        expect((await ask(server, path, { headers })).status).toBe(401);
        expect((await ask(server, "/readyz")).json).toMatchObject({ checks: { database: "ok" } });
        await server.close(0);
        const day = new Date().toISOString().slice(0, 10);
        expect(await usage.range(tenant.id, { from: day, to: day })).toMatchObject([
          { requests: 5 },
        ]);
      });
    },
  );

  it.skipIf(!database.available)(
    "refuses ids, names and cursors that are none, and never fails for them",
    async () => {
      await withServer({ development: true }, async (server) => {
        const paths = [
          "x",
          "%00",
          "%F0%9F%92%A9",
          "00000000-0000-0000-0000-000000000000",
          "%ED%A0%80",
          "..%2f",
        ];
        for (const id of paths) {
          for (const rest of ["", "/versions", "/graph"]) {
            const { status } = await ask(server, `/v1/agents/${id}${rest}`);
            expect([id, rest, [400, 404].includes(status)]).toEqual([id, rest, true]);
          }
        }
        for (const query of [
          "cursor=x",
          "cursor=%00",
          "name=%00",
          "limit=1e2",
          "limit=-1",
          "version=1",
        ]) {
          expect([query, (await ask(server, `/v1/agents?${query}`)).status]).toEqual([query, 400]);
        }
      });
    },
  );

  it.skipIf(!database.available)(
    "has one tenant without keys, which stays from one start to the next",
    async () => {
      const ids: (string | null)[] = [];
      for (let start = 0; start < 2; start += 1)
        await withServer({ development: true }, async (server) => {
          ids.push(server.developmentTenantId);
          expect((await ask(server, "/v1/agents")).status).toBe(200);
        });
      expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
      expect(ids[0]).toBe(ids[1]);
    },
  );
});
