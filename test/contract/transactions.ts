import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LeaseLostError } from "../../src/storage/errors.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import type { DatabaseClient, DatabasePool } from "../../src/storage/pool.ts";
import {
  openTenantPool,
  queryAllTenants,
  queryTenant,
  type TenantPool,
  withTenant,
} from "../../src/storage/tenant.ts";
import { tenantPool, ThreadFences } from "../../src/storage/tenant-pool.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { newTenant } from "./memory-store.ts";

const schema = "stratagraph";
const threadId = "t";
const insert = "insert into stratagraph.note (text) values ($1) returning text";

export interface TransactionSubject {
  readonly name: string;
  readonly database: TestDatabase;
  /** Opens a pool of one session, which the contract closes. */
  readonly open: () => Promise<DatabasePool>;
  /** Whether clients of the pool send statements before those ahead of them are answered. */
  readonly pipelines: boolean;
}

/** Transactions of tenants: what fails writes nothing, and leaves no transaction behind. */
export function transactionsContract({ name, database, open, pipelines }: TransactionSubject) {
  describe.skipIf(!database.available)(`transactions of tenants on ${name}`, () => {
    const tenantId = newTenant();
    const runId = newTenant();
    let pool: DatabasePool;
    let tenants: TenantPool;
    let fences: ThreadFences;

    beforeAll(async () => {
      if (!database.available) return;
      pool = await open();
      const folder = new URL("../../src/storage/platform/migrations/", import.meta.url);
      await migrate(pool, {
        schema,
        name: "platform",
        migrations: await loadMigrations(folder),
      });
      await pool.query(
        `create table if not exists stratagraph.note (text text unique deferrable initially deferred,
          tenant_id uuid not null default current_setting('app.tenant')::uuid)`,
      );
      const tables = ["tenant", "agent_instance", "run", "note"];
      tenants = await openTenantPool(pool, { schema, tables });
      await withTenant(tenants, tenantId, async (client) => {
        await client.query(
          "insert into stratagraph.tenant (id, name) values ($1::uuid, $1::text)",
          [tenantId],
        );
        await client.query(
          "insert into stratagraph.agent_instance (id, tenant_id, agent, thread_id) values ($1, $2, 'a', $3)",
          [runId, tenantId, threadId],
        );
        await client.query(
          `insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request, state)
          values ($1, $2, $1, $3, 1, 'turn', '{}', 'running')`,
          [runId, tenantId, threadId],
        );
      });
      fences = new ThreadFences(schema);
    });
    afterAll(() => pool?.end());

    const note = (text: string) => ({ text: insert, values: [text] });
    const written = async (...texts: string[]) => {
      const { rows } = await queryAllTenants<{ text: string; tenant_id: string }>(pool, {
        text: "select text, tenant_id from stratagraph.note where text = any($1) order by text",
        values: [texts],
      });
      return rows;
    };
    /** Checks that the one session is in no transaction, and is the one of before. */
    const session = async () => {
      const { rows } = await pool.query<{ pid: number; is_idle: boolean }>(
        "select pg_backend_pid() as pid, now() = statement_timestamp() as is_idle",
      );
      expect(rows[0]!.is_idle).toBe(true);
      return rows[0]!.pid;
    };
    const unknownRole = () => ({ pool, role: "stratagraph_no_such_role" });
    const scoped = (claimed: boolean) => {
      fences.fence(threadId, { runId, epoch: claimed ? 0 : 7 });
      return tenantPool(tenants, tenantId, fences).forThread(threadId);
    };

    test("send one statement with its begin and its commit, where the client pipelines", async () => {
      const log: string[] = [];
      const watched = watchedPool(pool, log);
      for (const query of [
        () => queryTenant({ ...tenants, pool: watched }, tenantId, note("one trip")),
        () => queryAllTenants(watched, { text: "select from stratagraph.note" }),
        () => tenantPool({ ...tenants, pool: watched }, tenantId).query(insert, ["one more"]),
      ]) {
        log.splice(0);
        await query();
        const apart = ["begin", "begin.", "statement", "statement.", "commit", "commit."];
        const together = ["begin", "statement", "commit", "begin.", "statement.", "commit."];
        expect(log).toEqual([...(pipelines ? together : apart), "release"]);
      }
      expect(await written("one trip", "one more")).toEqual(
        ["one more", "one trip"].map((text) => ({ text, tenant_id: tenantId })),
      );
    });

    test.each([
      ["one statement", () => queryTenant(unknownRole(), tenantId, note("role"))],
      [
        "a transaction",
        () => withTenant(unknownRole(), tenantId, (own) => own.query(insert, ["role"])),
      ],
      [
        "a transaction that goes on",
        () =>
          withTenant(unknownRole(), tenantId, (own) =>
            own.query(insert, ["role"]).catch(() => undefined),
          ),
      ],
      [
        "a transaction without statements",
        () => withTenant(unknownRole(), tenantId, async () => 1),
      ],
      [
        "a statement of a thread",
        () => tenantPool(unknownRole(), tenantId).query(insert, ["role"]),
      ],
    ])(
      "%s whose begin fails writes nothing, and throws what the begin did",
      async (_what, write) => {
        const pid = await session();
        await expect(write()).rejects.toMatchObject({ code: "22023" });
        expect(await session()).toBe(pid);
        expect(await written("role")).toEqual([]);
      },
    );

    test("write nothing after a begin that failed, whatever is sent at once", async () => {
      const texts = ["begin", insert, insert, "commit"];
      const [begun, ...rest] = await using(tenantPool(unknownRole(), tenantId), (client) =>
        Promise.allSettled(
          texts.map((text) => client.query(text, text === insert ? ["sent"] : undefined)),
        ),
      );
      const refused = { reason: { code: "22023" } };
      // Elsewhere the begin fails, and each of the others has a transaction of its own.
      expect(pipelines ? rest : [begun]).toMatchObject(
        (pipelines ? rest : [begun]).map(() => refused),
      );
      await session();
      expect(await written("sent")).toEqual([]);
    });

    test("roll back a statement that fails, at its end too", async () => {
      const pid = await session();
      const dividing = `with w as (${insert}) select 1 / (length(text) - 4) from w`;
      const failing = { text: dividing, values: ["four"] };
      for (const query of [
        () => queryTenant(tenants, tenantId, failing),
        () => tenantPool(tenants, tenantId).query(failing),
        // Under a claim that holds, it is no lost lease.
        () => scoped(true).query(failing),
        () =>
          using(scoped(true), async (client) => {
            await client.query("begin");
            await client.query(failing);
          }),
      ])
        await expect(query()).rejects.toMatchObject({ code: "22012" });
      await queryTenant(tenants, tenantId, note("twice"));
      // Known at the commit alone.
      await expect(queryTenant(tenants, tenantId, note("twice"))).rejects.toMatchObject({
        code: "23505",
      });
      await expect(scoped(true).query(note("twice"))).rejects.toMatchObject({ code: "23505" });
      expect(await session()).toBe(pid);
      expect(await written("four", "twice")).toHaveLength(1);
    });

    test("write several statements together, or none of them", async () => {
      const pid = await session();
      const threads = scoped(true);
      const results = await threads.queryTogether([note("first"), note("second")]);
      expect(results.map(({ rows }) => rows)).toEqual([[{ text: "first" }], [{ text: "second" }]]);
      const failing = { text: "select 1 / $1::int", values: [0] };
      const broken = threads.queryTogether([note("third"), failing, note("fourth")]);
      await expect(broken).rejects.toMatchObject({ code: "22012" });
      // Known at the commit alone.
      const twice = threads.queryTogether([note("fifth"), note("first")]);
      await expect(twice).rejects.toMatchObject({ code: "23505" });
      await expect(scoped(false).queryTogether([note("sixth")])).rejects.toThrow(LeaseLostError);
      expect(await session()).toBe(pid);
      const texts = ["first", "second", "third", "fourth", "fifth", "sixth"];
      expect((await written(...texts)).map(({ text }) => text)).toEqual(["first", "second"]);
    });

    // Poolers lose names: of Postgres, and they are sent to pipelines alone.
    const hasNames = pipelines && database.kind === "postgres";
    test.skipIf(!hasNames)("write statements together whose names the session lost", async () => {
      const threads = scoped(true);
      const named = (text: string) => ({ name: "note", ...note(text) });
      await threads.queryTogether([named("seventh"), named("eighth")]);
      await pool.query("deallocate all");
      await session();
      const texts = ["eleventh", "ninth", "tenth"];
      const results = await threads.queryTogether(texts.map(named));
      expect(results.map(({ rows }) => rows)).toEqual(texts.map((text) => [{ text }]));
      await session();
      expect((await written(...texts)).map(({ text }) => text)).toEqual(texts);
    });

    test("refuse what comes under a lost claim, in transactions of every kind", async () => {
      await scoped(true).query(insert, ["claimed"]);
      const pid = await session();
      const lost = scoped(false);
      await expect(lost.query(insert, ["lost"])).rejects.toThrow(LeaseLostError);
      for (const statements of [[insert], [], [insert, insert]]) {
        const work = using(lost, async (client) => {
          await client.query("begin");
          for (const text of statements) await client.query(text, ["lost"]).catch(() => undefined);
          await client.query("commit");
        });
        await expect(work).rejects.toMatchObject({ code: "lease_lost", runId, epoch: 7 });
      }
      expect(await session()).toBe(pid);
      expect(await written("claimed", "lost")).toEqual([{ text: "claimed", tenant_id: tenantId }]);
    });

    test("may begin again after a begin that failed", async () => {
      const work = using(scoped(false), async (client) => {
        await client.query("begin");
        await client.query(insert, ["again"]);
      });
      await expect(work).rejects.toThrow(LeaseLostError);
      const ended = await using(scoped(true), async (client) => {
        await client.query("begin");
        await client.query(insert, ["again"]);
        await client.query("rollback");
        await client.query("begin");
        await client.query(insert, ["kept"]);
        return client.query("commit");
      });
      expect(ended.command).toBe("COMMIT");
      expect((await written("again", "kept")).map(({ text }) => text)).toEqual(["kept"]);
    });

    test.skipIf(!pipelines)("end with their client, though nothing ended them", async () => {
      for (const pooled of [scoped(true), scoped(false), tenantPool(unknownRole(), tenantId)]) {
        const client = await pooled.connect();
        try {
          await client.query("begin");
          await client.query(insert, ["open"]).catch(() => undefined);
        } finally {
          client.release();
        }
        await session();
      }
      expect(await written("open")).toEqual([]);
    });
  });
}

/** Uses a client, rolls back what it left open, and gives it back. */
async function using<T>(
  pool: DatabasePool,
  work: (client: DatabaseClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

/** A pool that logs what is sent, and with a dot what was answered. */
function watchedPool(pool: DatabasePool, log: string[]): DatabasePool {
  return {
    ...pool,
    async connect() {
      const client = await pool.connect();
      return {
        ...(client.pipelines && { pipelines: client.pipelines }),
        release() {
          log.push("release");
          client.release();
        },
        async query(query, values) {
          const text = typeof query === "string" ? query : query.text;
          const kind = /^(?:begin|commit)/.exec(text)?.[0] ?? "statement";
          log.push(kind);
          try {
            return await client.query(query, values);
          } finally {
            log.push(`${kind}.`);
          }
        },
      };
    },
  };
}
