import { describe, expect, test } from "vitest";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresCheckpointer } from "../../../checkpointers/postgres.ts";
import { DatabaseExperimentMemory } from "../../../src/experiment/memory/database-memory.ts";
import { DatabaseToolJournal } from "../../../src/storage/tool-journal.ts";
import { canonicalHash } from "../../../src/values/json.ts";
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

      /** Puts a row into every table of the platform and of memories, with the word wherever a text can be. */
      const fill = async (word = "x"): Promise<string> => {
        const { platform } = subject;
        const { id } = await platform.tenants.create({ name: `${word} ${systemIds()}` });
        const { id: definitionId, agentId } = await platform.agents.create(id, {
          name: word,
          definition: { word },
        });
        const { id: instanceId } = await platform.instances.create(id, {
          threadId: word,
          agent: word,
          definitionId,
        });
        await platform.apiKeys.create({ tenantId: id, name: word, scopes: ["*"] });
        await platform.runs.create(id, { instanceId, request: { word }, metadata: { word } });
        const tool = { name: word, definition: { word } };
        const { id: toolId } = await platform.tools.create(id, tool);
        await platform.tools.bind(id, { agentId, toolId, overrides: { description: word } });
        await platform.schedules.create(id, {
          agentId,
          name: word,
          cron: "@daily",
          timeZone: "UTC",
          kind: "turn",
          request: { word },
          priority: 0,
          metadata: { word },
          threadId: word,
          isEphemeral: false,
          isExclusive: false,
          missed: "once",
          maxMissed: 1,
          enabled: false,
          nextAt: null,
          endAt: null,
        });
        await platform.secrets.set(id, { name: "SECRET", value: `${word} secret` });
        await platform.webhooks.create(id, { url: `https://${word}.com`, events: ["*"] });
        await platform.webhooks.enqueue(id, { event: word, body: { word } });
        const named = { key: word, attempt: systemIds() };
        await platform.idempotency.begin(id, { ...named, requestHash: Buffer.alloc(32) });
        await platform.idempotency.finish(id, named, { status: 200, answer: { word } });
        await platform.usage.add(id, { requests: 1 });
        await platform.audit.append(id, { actor: "operator", action: word, subject: word });
        const run = await platform.runs.create(id, { instanceId, request: { word } });
        await withTenant(platform.tables.tenants, id, (client) =>
          platform.timers.set(run, new Date().toISOString(), client),
        );
        const event = { name: word, payload: { word } };
        await platform.threadEvents.send(run, { event, key: word, decide: () => null });
        const at = systemIds();
        const key = [timeOfId(at), at, id, word];
        await platform.partitions.withDays([at], () =>
          withTenant(platform.tables.tenants, id, async (client) => {
            await client.query(
              `insert into ${table("turn")} (at, id, tenant_id, instance_id, turn_number, status, input, output, cause)
            values ($1, $2, $3, $2, 1, $4, to_json($4::text), to_json($4::text), to_json($4::text))`,
              key,
            );
            await client.query(
              `insert into ${table("tool_call")} (at, id, tenant_id, turn_id, agent, step, call_id, tool_name, status, input, output)
            values ($1, $2, $3, $2, $4, 0, $4, $4, 's', to_json($4::text), to_json($4::text))`,
              key,
            );
            await client.query(
              `insert into ${table("llm_call")} (at, id, tenant_id, purpose, model, provider, attempt, finish_reason, latency_ms, messages, response)
            values ($1, $2, $3, 'p', $4, 'p', 1, 'stop', 1, to_json($4::text), to_json($4::text))`,
              key,
            );
            await client.query(
              `insert into ${table("run_event")} (at, id, tenant_id, run_id, seq, event, data)
            values ($1, $2, $3, $2, 1, 'e', to_json($4::text))`,
              key,
            );
            await client.query(
              `insert into ${table("archive")} (id, tenant_id, subject, thread_id, state, format, created_at, updated_at)
            values ($2, $3, 'thread', $4, 'restored', 1, $1, $1)`,
              key,
            );
            await client.query(
              `insert into ${table("cancel_request")} (tenant_id, thread_id, reason) values ($1, $2, $2)`,
              [id, word],
            );
          }),
        );
        await platform.retention.saveThinned(id, word);
        const memories = openDatabaseMemory(subject.database.shared, { vectors: "scan" });
        const namespace = ["agents", word];
        const embedding = { model: word, vector: new Float32Array([1, 0]) };
        const store = memories.forTenant(id);
        const added = await store.add([
          { namespace, content: word, embedding },
          { namespace, content: `${word} 2` },
        ]);
        await store.recordUses([{ id: added[0]!.id, run: word, threadId: word, score: 1 }]);
        const [second] = await store.get([added[1]!.id]);
        await store.consolidating({ namespace, threadId: null }, (apply) =>
          apply([{ kind: "evict", id: added[1]!.id, readAt: second!.updated_at, archive: true }]),
        );
        return id;
      };

      /** Puts a row into every table of threads, tool calls and experiment memory. */
      const fillThreads = async (tenantId: string, word = "x"): Promise<void> => {
        const { pool } = subject.database.shared;
        const place = { schema: "stratagraph", tenantId };
        const saver = new PostgresCheckpointer(pool, place);
        const definition = { word };
        const hash = canonicalHash(definition);
        saver.rememberDefinition(hash, definition);
        const id = uuid6(1);
        const config = { thread_id: word, checkpoint_ns: "" };
        await saver.put(
          { configurable: { ...config, __definition_hash: hash } },
          {
            ...emptyCheckpoint(),
            id,
            channel_values: { text: [word, word.repeat(1_000)] },
            channel_versions: { text: 1 },
          },
          { source: "loop", step: 0, parents: {} },
          { text: 1 },
        );
        await saver.putWrites(
          { configurable: { ...config, checkpoint_id: id } },
          [["text", word]],
          word,
        );
        await saver.blobs.put(word, { bytes: Buffer.from(word), mimeType: "text/plain" });
        await withTenant(subject.platform.tables.tenants, tenantId, (client) =>
          client.query(
            `with stock as (insert into ${table("checkpoint_blobs")} (thread_id, channel, version, type, blob)
              values ($1, $1, '1', 'json', convert_to($1, 'UTF8')))
            insert into ${table("checkpoint_writes")} (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
            values ($1, '1', $1, 0, $1, 'json', convert_to($1, 'UTF8'))`,
            [word],
          ),
        );
        const call = {
          threadId: word,
          run: word,
          step: 0,
          callId: word,
          tool: word,
          input: { word },
        };
        const journal = new DatabaseToolJournal(pool, place);
        await journal.begin({ ...call, idempotent: false });
        await new DatabaseExperimentMemory(pool, place).of(word).write(word, word, 1);
      };
      const counts = (tenantId: string) => subject.platform.tenantRows.count(tenantId);
      /** Tables of the schema, but for the vectors of pgvector and what the fill above does not write. */
      const filled = async (tenantId: string) =>
        Object.entries(await counts(tenantId)).flatMap(([name, rows]) =>
          name === "memory_vector" ? [] : [[name, rows] as const],
        );

      /** Tables of the whole database with a row that has one of the texts in any column, bytes included. */
      const tablesWith = async (words: readonly string[]): Promise<readonly string[]> => {
        const { pool } = subject.administrator.shared;
        const { rows: all } = await pool.query<{ name: string }>(
          `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'm') and n.nspname !~ '^(pg_|information_schema$)' order by 1`,
        );
        const texts = words.flatMap((word) => [
          word,
          Buffer.from(word).toString("hex"),
          word.replaceAll("-", ""),
        ]);
        const found: string[] = [];
        for (const { name } of all) {
          const { rows } = await pool.query(
            `select from ${name} e where exists (select from unnest($1::text[]) w where strpos(e::text, w) > 0) limit 1`,
            [texts],
          );
          if (rows.length > 0) found.push(name);
        }
        return found;
      };

      test("are in every table of the schema, once filled", async () => {
        const tenantId = await fill();
        await fillThreads(tenantId);
        const rows = await filled(tenantId);
        expect(rows.length).toBeGreaterThanOrEqual(35);
        expect(rows.filter(([, count]) => count === 0)).toEqual([]);
      });

      test("are kept apart, though statements have no condition", async () => {
        const [mine, other] = [await fill(), await fill()];
        const { tenants } = subject.platform.tables;
        const before = await filled(other);
        // Those of threads: test/contract/thread-isolation.ts.
        for (const [name, rows] of await filled(mine)) {
          if (rows === 0) continue;
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
          const { rows: all } = await run(
            mine,
            `select string_agg(format('%I', attname), ', ') as tenant from pg_attribute
            where attrelid = '${table(name)}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
          );
          const columns = all[0]!.tenant;
          const forged = `insert into ${table(name)} (${columns}) select ${columns} from (
            select (json_populate_record(e, json_build_object('${column}', $1::uuid))).* from ${table(name)} e) f`;
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
        // Its owner may read it, and sees no row.
        const seen = await read.catch((error: unknown) => error);
        const isRefused = seen instanceof DatabasePermissionError;
        const rows = isRefused ? [] : (seen as { rows: unknown[] }).rows;
        expect({ isRefused, rows }).toEqual({ isRefused: tenants.role !== null, rows: [] });
      });

      test("are exported as lines of JSON, opened where they are sealed", async () => {
        const { database, clock } = subject;
        const sealed = await openPlatform(database.shared, { clock, cipher: encoding });
        const tenantId = await fill();
        const { id: instanceId, definitionId } = await subject.newInstance(tenantId);
        const request = { input: { message: "secret" } };
        const given = { instanceId, request, ...(definitionId !== null && { definitionId }) };
        const { id: runId } = await sealed.runs.create(tenantId, given);
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
        const rowOf = (id: string) => rows.find(({ row }) => row["id"] === id)?.row;
        expect(rowOf(runId)?.["request"]).toEqual(request);
        expect(rowOf(instanceId)?.["title"]).toBe("secret");
      });

      test("are sealed where a cipher is given, and not read without it", async () => {
        const { database, clock, platform } = subject;
        const sealed = await openPlatform(database.shared, { clock, cipher: encoding });
        const { id: tenantId } = await subject.newTenant();
        const { id: instanceId, threadId, definitionId } = await subject.newInstance(tenantId);
        const word = "planted-value";
        const given = { word, input: { message: word } };
        const run = await sealed.runs.create(tenantId, {
          instanceId,
          ...(definitionId !== null && { definitionId }),
          request: given,
          priority: 1_000,
        });
        expect((await sealed.instances.onThread(tenantId, threadId))?.title).toBe(word);
        const claim = await sealed.claims.claim({ worker: "w", leaseMs: 1_000 });
        expect(claim).toMatchObject({ id: run.id, request: given });
        await sealed.events.append(claim!, [{ event: "e", data: { word } }]);
        await sealed.claims.finish(claim!, { state: "complete", result: { word } });
        const hook = await sealed.webhooks.create(tenantId, {
          url: word.slice(0, 1),
          events: ["*"],
        });
        await sealed.webhooks.enqueue(tenantId, { event: "e", body: { word } });
        const request = { key: "k", attempt: systemIds(), requestHash: Buffer.alloc(32) };
        await sealed.idempotency.begin(tenantId, request);
        await sealed.idempotency.finish(tenantId, request, { status: 200, answer: { word } });
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
        await expect(platform.runs.get(tenantId, run.id)).rejects.toThrow(
          MissingEncryptionKeyError,
        );
        await platform.tenantRows.delete(tenantId);
      });

      test("are deleted in every table, in parts, and no row of another tenant", async () => {
        const word = "planted-in-every-table";
        const [mine, other] = [await fill(word), await fill()];
        await fillThreads(mine, word);
        await fillThreads(other);
        const { tenantRows, tenants, usage } = subject.platform;
        await usage.add(mine, { requests: 1 });
        expect((await tablesWith([word])).length).toBeGreaterThanOrEqual(30);
        const before = await counts(other);
        const had = await counts(mine);
        expect(await tenantRows.delete(mine, { batch: 1 })).toEqual(had);
        expect(Object.values(await counts(mine)).every((rows) => rows === 0)).toBe(true);
        expect(await counts(other)).toEqual(before);
        expect(await tablesWith([word, mine])).toEqual([]);
        await expect(tenants.get(mine)).rejects.toThrow(NotFoundError);
        const again = await tenantRows.delete(mine);
        expect(Object.values(again).every((rows) => rows === 0)).toBe(true);
      });
    },
  );
}
