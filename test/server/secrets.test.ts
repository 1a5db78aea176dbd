import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { httpServer } from "../helpers/http-server.ts";
import { startTenantApi } from "../helpers/tenant-api.ts";

const keys = `one:${randomBytes(32).toString("base64")}`;
const env = { STRATAGRAPH_ENCRYPTION_KEYS: keys };
const value = "s3cr3t/of+the=tenant";

describe.each(drawDatabases(import.meta.url))("secrets on %s", (kind) => {
  const database = useDatabase(kind);

  it.skipIf(!database.available)("are stored, listed by name, replaced and deleted", async () => {
    const { send, newKey, platform, tenantId } = await startTenantApi(database.shared, { env });
    const put = (name: string, secret: string) =>
      send("PUT", `/v1/secrets/${name}`, { body: { value: secret } });
    expect((await put("TOKEN", value)).status).toBe(201);
    const replaced = await put("TOKEN", `${value}2`);
    expect(replaced.status).toBe(200);
    expect(replaced.text).not.toContain("s3cr3t");
    await put("OTHER", value);
    const listed = await send("GET", "/v1/secrets");
    expect(listed.json["secrets"]).toMatchObject([{ name: "OTHER" }, { name: "TOKEN" }]);
    expect(listed.text).not.toContain("s3cr3t");
    expect(await platform.secrets.read(tenantId, "TOKEN")).toBe(`${value}2`);
    const { key, tenantId: other } = await newKey(["*"]);
    expect((await send("GET", "/v1/secrets", { key })).json).toEqual({ secrets: [] });
    expect((await send("DELETE", "/v1/secrets/TOKEN", { key })).status).toBe(404);
    expect(await platform.secrets.read(other, "TOKEN")).toBeUndefined();
    expect((await send("DELETE", "/v1/secrets/TOKEN")).status).toBe(204);
    expect((await send("DELETE", "/v1/secrets/TOKEN")).status).toBe(404);
    expect(await platform.secrets.read(tenantId, "TOKEN")).toBeUndefined();
  });

  it.skipIf(!database.available)("are sealed in their rows, and left out of exports", async () => {
    const { send, platform, tenantId } = await startTenantApi(database.shared, { env });
    await send("PUT", "/v1/secrets/TOKEN", { body: { value } });
    const { rows } = await database.shared.pool.query<{ value: string }>(
      `select value::text as value from stratagraph.secret where tenant_id = $1::uuid`,
      [tenantId],
    );
    expect(rows.map((row) => row.value.slice(0, 8))).toEqual(['"sealed:']);
    const lines: string[] = [];
    await platform.tenantRows.export(tenantId, async (line) => void lines.push(line));
    expect(lines.filter((line) => line.includes('"table":"secret"'))).toHaveLength(1);
    expect(lines.join("")).not.toContain("s3cr3t");
    expect((await platform.tenantRows.delete(tenantId))["secret"]).toBe(1);
  });

  it.skipIf(!database.available)(
    "reach the servers of tools, and neither results nor events, rows and checkpoints",
    async () => {
      const received: (string | undefined)[] = [];
      const host = await httpServer((request, response) => {
        const { authorization } = request.headers;
        received.push(authorization);
        response.statusCode = request.url === "/fail" ? 500 : 200;
        response.setHeader("content-type", "application/json");
        const encoded = Buffer.from(authorization ?? "").toString("base64");
        response.end(JSON.stringify({ authorization, encoded, url: encodeURIComponent(value) }));
      });
      const api = await startTenantApi(database.shared, {
        runtime: { httpAllow: [host] },
        allow: { plainSecrets: true },
        script: [
          {
            calls: [
              { name: "whoami", args: {} },
              { name: "fails", args: {} },
            ],
          },
          "Done.",
        ],
      });
      await api.send("PUT", "/v1/secrets/TOKEN", { body: { value } });
      const ids: string[] = [];
      for (const [name, path] of [
        ["whoami", "/"],
        ["fails", "/fail"],
      ]) {
        const transport = {
          type: "http",
          endpoint: `http://${host}${path}`,
          headers: { Authorization: "Bearer {{secret:TOKEN}}" },
        };
        const body = { name, description: "Says who calls.", transport };
        ids.push(String((await api.send("POST", "/v1/tools", { body })).json["id"]));
      }
      const body = { name: "a", tools: ids };
      const { json } = await api.send("POST", "/v1/agents", { body });
      const run = await api.run(String(json["id"]), { message: "Who am I?" });
      expect(received).toEqual([`Bearer ${value}`, `Bearer ${value}`]);
      const executed = await api.send("POST", `/v1/tools/${ids[0]}/execute`, { body: {} });
      const { outcome, output } = executed.json;
      expect({ outcome, output }).toMatchObject({
        outcome: "success",
        output: { authorization: "Bearer {{secret:TOKEN}}" },
      });
      const events = await api.platform.events.read(api.tenantId, run.id);
      expect(JSON.stringify(events)).toContain("{{secret:TOKEN}}");
      const lines: string[] = [];
      await api.platform.tenantRows.export(api.tenantId, async (line) => void lines.push(line));
      const tables = new Set(lines.map((line) => (JSON.parse(line) as { table: string }).table));
      expect([...tables]).toEqual(expect.arrayContaining(["run_event", "tool_call", "llm_call"]));
      const stored = [JSON.stringify(run), JSON.stringify(events), executed.text, ...lines].join(
        "",
      );
      const forms = [value, encodeURIComponent(value), Buffer.from(value).toString("base64")];
      for (const form of forms) expect(stored).not.toContain(form.slice(0, 16));
      const states = await api.base.runtimes.use(api.tenantId, async ({ runtime: { threads } }) => {
        const { items } = await threads.history(run.threadId);
        return Promise.all(
          items.map(({ id }) => threads.stateAt({ threadId: run.threadId, checkpointId: id })),
        );
      });
      expect(JSON.stringify(states)).toContain("{{secret:TOKEN}}");
      expect(JSON.stringify(states)).not.toContain("s3cr3t");
    },
  );

  it.skipIf(!database.available)("are another tenant's only where that has them", async () => {
    const api = await startTenantApi(database.shared, { env });
    await api.send("PUT", "/v1/secrets/TOKEN", { body: { value } });
    const { key } = await api.newKey(["*"]);
    const transport = {
      type: "http",
      endpoint: "https://api.example.com/",
      headers: { Authorization: "Bearer {{secret:TOKEN}}" },
    };
    const body = { name: "t", description: "Calls.", transport };
    const { json } = await api.send("POST", "/v1/tools", { key, body });
    const path = `/v1/tools/${String(json["id"])}/execute`;
    const called = await api.send("POST", path, { key, body: {} });
    expect(called.json).toMatchObject({ outcome: "error", status: "error" });
    expect(called.json["error"]).toMatch(/TOKEN/);
  });
});

describe("a secret", () => {
  const database = useDatabase("pglite");

  it("is not stored without encryption, unless the operator allows it", async () => {
    const strict = await startTenantApi(database.shared);
    const body = { value };
    const refused = await strict.send("PUT", "/v1/secrets/TOKEN", { body });
    expect(refused).toMatchObject({ status: 422, json: { type: "/problems/encryption_required" } });
    const allowing = await startTenantApi(database.shared, { allow: { plainSecrets: true } });
    expect((await allowing.send("PUT", "/v1/secrets/TOKEN", { body })).status).toBe(201);
  });

  it.each([
    ["1A", value, 422],
    ["a-b", value, 422],
    ["%00", value, 422],
    ["A", "sh0rt", 422],
    ["A", 123_456_789, 400],
    ["A", "x".repeat(8_193), 422],
    ["A", "12345678\0", 422],
  ])("is refused: %j", async (name, given, status) => {
    const { send } = await startTenantApi(database.shared, { env });
    const refused = await send("PUT", `/v1/secrets/${name}`, { body: { value: given } });
    expect([refused.status, refused.text.includes(String(given))]).toEqual([status, false]);
  });

  it("of the server's environment is none of a tenant's", async () => {
    const api = await startTenantApi(database.shared, { env: { ...env, OPENAI_API_KEY: value } });
    const transport = {
      type: "http",
      endpoint: "https://api.example.com/",
      headers: { Authorization: "Bearer {{secret:OPENAI_API_KEY}}" },
    };
    const body = { name: "t", description: "Calls.", transport };
    const { json } = await api.send("POST", "/v1/tools", { body });
    const called = await api.send("POST", `/v1/tools/${String(json["id"])}/execute`, { body: {} });
    expect(called.json).toMatchObject({ outcome: "error" });
    expect(called.json["error"]).toMatch(/OPENAI_API_KEY/);
  });
});
