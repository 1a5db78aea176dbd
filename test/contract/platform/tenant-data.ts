import { describe, expect, test } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import { DatabasePermissionError } from "../../../src/storage/errors.ts";
import {
  createValueCipher,
  MissingEncryptionKeyError,
} from "../../../src/storage/encryption/value-cipher.ts";
import { openDatabaseMemory } from "../../../src/storage/memory/database-memory.ts";
import { timeOfId } from "../../../src/storage/platform/checks.ts";
import { NotFoundError } from "../../../src/storage/platform/errors.ts";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { withAllTenants, withTenant } from "../../../src/storage/tenant.ts";
import type { PlatformSubject } from "./subject.ts";

const encoding = createValueCipher([{ id: "test", key: Buffer.alloc(32, 7) }]);

/** All rows of a tenant: kept apart, exported, deleted. */
export function tenantDataContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(
    `rows of tenants on ${subject.database.kind}`,
    () => {
      const table = (name: string) => `${subject.platform.tables.schema}."${name}"`;

      /** Puts a row into every table of the schema. */
      const fill = async (): Promise<string> => {
        const { platform } = subject;
        const { id } = await subject.newTenant();
        const { id: instanceId } = await subject.newInstance(id);
        const { agentId } = (await platform.agents.list(id)).items[0]!;
        await platform.apiKeys.create({ tenantId: id, name: "k", scopes: ["*"] });
        await platform.runs.create(id, { instanceId, request: {} });
        const { id: toolId } = await platform.tools.create(id, { name: "t", definition: {} });
        await platform.tools.bind(id, { agentId, toolId });
        await platform.webhooks.create(id, { url: "https://example.com", events: ["*"] });
        await platform.webhooks.enqueue(id, { event: "e", body: {} });
        await platform.idempotency.begin(id, { key: "k", requestHash: Buffer.alloc(32) });
        await platform.usage.add(id, { requests: 1 });
        await platform.audit.append(id, { actor: "operator", action: "a", subject: "s" });
        const at = systemIds();
        const key = [timeOfId(at), at, id];
        await platform.partitions.withDays([at], () =>
          withTenant(platform.tables.tenants, id, async (client) => {
            await client.query(
              `insert into ${table("turn")} (at, id, tenant_id, instance_id, turn_number, status) values ($1, $2, $3, $2, 1, 's')`,
              key,
            );
            await client.query(
              `insert into ${table("tool_call")} (at, id, tenant_id, turn_id, agent, step, call_id, tool_name, status)
            values ($1, $2, $3, $2, 'a', 0, 'c', 't', 's')`,
              key,
            );
            await client.query(
              `insert into ${table("llm_call")} (at, id, tenant_id, purpose, model, provider, attempt, finish_reason, latency_ms)
            values ($1, $2, $3, 'p', 'm', 'p', 1, 'stop', 1)`,
              key,
            );
            await client.query(
              `insert into ${table("run_event")} (at, id, tenant_id, run_id, seq, event, data) values ($1, $2, $3, $2, 1, 'e', '{}')`,
              key,
            );
            await client.query(`insert into ${table("cancel_request")} values ($1, 't')`, [id]);
          }),
        );
        const memories = openDatabaseMemory(subject.database.shared, { vectors: "scan" });
        const namespace = ["agents", "support"];
        const embedding = { model: "m", vector: new Float32Array([1, 0]) };
        const store = memories.forTenant(id);
        const added = await store.add([
          { namespace, content: "a", embedding },
          { namespace, content: "b" },
        ]);
        await store.recordUses([{ id: added[0]!.id, run: "r", threadId: "t", score: 1 }]);
        const [second] = await store.get([added[1]!.id]);
        await store.consolidating({ namespace, threadId: null }, (apply) =>
          apply([{ kind: "evict", id: added[1]!.id, readAt: second!.updated_at, archive: true }]),
        );
        return id;
      };
      const counts = (tenantId: string) => subject.platform.tenantRows.count(tenantId);
      /** Tables of the schema, but for the vectors of pgvector and what the fill above does not write. */
      const filled = async (tenantId: string) =>
        Object.entries(await counts(tenantId)).flatMap(([name, rows]) =>
          name === "memory_vector" ? [] : [[name, rows] as const],
        );

      test("are in every table of the schema, once filled", async () => {
        const rows = await filled(await fill());
        expect(rows.length).toBeGreaterThanOrEqual(21);
        expect(rows.filter(([, count]) => count === 0)).toEqual([]);
      });

      test("are kept apart, though statements have no condition", async () => {
        const [mine, other] = [await fill(), await fill()];
        const { tenants } = subject.platform.tables;
        const before = await filled(other);
        for (const [name, rows] of await filled(mine)) {
          const column = name === "tenant" ? "id" : "tenant_id";
          const run = (as: string, statement: string, values: readonly unknown[] = []) =>
            withTenant(tenants, as, (client) =>
              client.query<{ tenant: string }>(statement, values),
            );
          const read = await run(mine, `select ${column} as tenant from ${table(name)}`);
          const own = Array.from({ length: rows }, () => ({ tenant: mine }));
          expect([name, read.rows]).toEqual([name, own]);
          expect(
            (await run(mine, `update ${table(name)} set ${column} = ${column}`)).rowCount,
          ).toBe(rows);
          const forged = `insert into ${table(name)} select (json_populate_record(e, json_build_object('${column}', $1::uuid))).* from ${table(name)} e`;
          await expect(run(mine, forged, [other])).rejects.toThrow(DatabasePermissionError);
          const given = `update ${table(name)} set ${column} = $1::uuid`;
          await expect(run(mine, given, [other])).rejects.toThrow(DatabasePermissionError);
          await run(mine, `delete from ${table(name)}`);
        }
        expect((await filled(mine)).filter(([, count]) => count > 0)).toEqual([]);
        expect(await filled(other)).toEqual(before);
      });

      test("are not read by a partition's own name", async () => {
        const tenantId = await fill();
        const { tenants } = subject.platform.tables;
        const day = subject.clock.now().toISOString().slice(0, 10).replaceAll("-", "");
        const read = withTenant(tenants, tenantId, (client) =>
          client.query(`select from ${table(`turn_${day}`)}`),
        );
        await expect(read).rejects.toThrow(DatabasePermissionError);
      });

      test("are exported as lines of JSON, opened where they are sealed", async () => {
        const { database, clock } = subject;
        const sealed = await openPlatform(database.shared, { clock, cipher: encoding });
        const tenantId = await fill();
        const { id: instanceId } = (await sealed.instances.list(tenantId)).items[0]!;
        const { id: runId } = await sealed.runs.create(tenantId, {
          instanceId,
          request: { message: "secret" },
        });
        const lines: string[] = [];
        const written = await sealed.tenantRows.export(tenantId, async (line) => {
          lines.push(line);
        });
        expect(written).toEqual(await sealed.tenantRows.count(tenantId));
        expect(lines).toHaveLength(Object.values(written).reduce((sum, rows) => sum + rows, 0));
        const rows = lines.map(
          (line) => JSON.parse(line) as { table: string; row: Record<string, unknown> },
        );
        expect(rows.every(({ row }) => (row["tenant_id"] ?? row["id"]) === tenantId)).toBe(true);
        expect(rows.find(({ row }) => row["id"] === runId)?.row["request"]).toEqual({
          message: "secret",
        });
      });

      test("are sealed where a cipher is given, and not read without it", async () => {
        const { database, clock, platform } = subject;
        const sealed = await openPlatform(database.shared, { clock, cipher: encoding });
        const { id: tenantId } = await subject.newTenant();
        const { id: instanceId } = await subject.newInstance(tenantId);
        const word = "planted-value";
        const run = await sealed.runs.create(tenantId, {
          instanceId,
          request: { word },
          priority: 1_000,
        });
        const claim = await sealed.claims.claim({ worker: "w", leaseMs: 1_000 });
        expect(claim).toMatchObject({ id: run.id, request: { word } });
        await sealed.events.append(claim!, [{ event: "e", data: { word } }]);
        await sealed.claims.finish(claim!, { state: "complete", result: { word } });
        const hook = await sealed.webhooks.create(tenantId, {
          url: word.slice(0, 1),
          events: ["*"],
        });
        await sealed.webhooks.enqueue(tenantId, { event: "e", body: { word } });
        const request = { key: "k", requestHash: Buffer.alloc(32) };
        await sealed.idempotency.begin(tenantId, request);
        await sealed.idempotency.finish(tenantId, "k", { status: 200, answer: { word } });
        const lines: string[] = [];
        const names = Object.keys(await counts(tenantId)).filter((one) => one !== "tenant");
        await withAllTenants(platform.tables.tenants.pool, async (client) => {
          for (const name of names) {
            const { rows } = await client.query<{ line: string }>(
              `select e::text as line from ${table(name)} e where tenant_id = $1::uuid`,
              [tenantId],
            );
            lines.push(...rows.map(({ line }) => line));
          }
        });
        expect(lines.length).toBeGreaterThanOrEqual(7);
        expect(lines.filter((line) => line.includes(word) || line.includes(hook.secret))).toEqual(
          [],
        );
        expect((await sealed.events.read(tenantId, run.id))[0]?.data).toEqual({ word });
        expect((await sealed.runs.get(tenantId, run.id)).result).toEqual({ word });
        const due = await sealed.webhooks.claimDue({ leaseMs: 1, limit: 200 });
        const mine = due.find((one) => one.tenantId === tenantId);
        expect(mine).toMatchObject({ secret: hook.secret, body: { word } });
        expect(await sealed.idempotency.begin(tenantId, request)).toMatchObject({
          answer: { word },
        });
        await expect(platform.runs.get(tenantId, run.id)).rejects.toThrow(MissingEncryptionKeyError);
        await platform.tenantRows.delete(tenantId);
      });

      test("are deleted in every table, in parts, and no row of another tenant", async () => {
        const [mine, other] = [await fill(), await fill()];
        const { tenantRows, tenants, usage } = subject.platform;
        await usage.add(mine, { requests: 1 });
        const before = await counts(other);
        const had = await counts(mine);
        expect(await tenantRows.delete(mine, { batch: 1 })).toEqual(had);
        expect(Object.values(await counts(mine)).every((rows) => rows === 0)).toBe(true);
        expect(await counts(other)).toEqual(before);
        await expect(tenants.get(mine)).rejects.toThrow(NotFoundError);
        const again = await tenantRows.delete(mine);
        expect(Object.values(again).every((rows) => rows === 0)).toBe(true);
      });
    },
  );
}
