import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createServer } from "../../src/index.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/storage/database.ts";
import {
  DatabaseConnectionError,
  NoticesKeptBackError,
  PooledSessionError,
} from "../../src/storage/errors.ts";
import { isSessionShared } from "../../src/storage/pooled-session.ts";
import { defaultTenant, queryTenant } from "../../src/storage/tenant.ts";
import { lockThread, ThreadLockedError } from "../../src/storage/thread-lock.ts";
import { useDatabase } from "../helpers/databases.ts";
import { hasPgBouncer, usePgBouncers } from "../helpers/pgbouncer.ts";

const database = useDatabase("postgres");
if (!hasPgBouncer) console.warn("PgBouncer is not installed: its tests are left out.");

describe.skipIf(!hasPgBouncer || !database.available)("behind PgBouncer by transaction", () => {
  const opened: Database[] = [];
  let url = "";
  let listenUrl = "";
  const open = async (options: DatabaseOptions) => {
    const one = await openDatabase({ url, connectTimeoutMs: 10_000, ...options });
    opened.push(one);
    return one;
  };
  const startPgBouncer = usePgBouncers();

  beforeAll(async () => {
    listenUrl = database.options.url ?? "";
    url = await startPgBouncer(listenUrl);
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
  });

  it("locks of threads are refused without a direct URL, and held with it", async () => {
    const pooled = await open({});
    await expect(lockThread(pooled, "a")).rejects.toThrow(PooledSessionError);
    const [one, two] = [await open({ listenUrl }), await open({ listenUrl })];
    const lock = await lockThread(one, "a");
    await expect(lockThread(two, "a")).rejects.toThrow(ThreadLockedError);
    await lock.release();
    await (await lockThread(two, "a")).release();
  });

  it("statements work under names that the pooler loses, and go without them from then on", async () => {
    const pooled = await open({});
    const statement = { name: "one", text: "select $1::int as value", values: [1] };
    for (let at = 0; at < 5; at += 1) {
      // Holds the session that the last statement had.
      const holder = await pooled.pool.connect();
      await holder.query("begin");
      const { rows } = await pooled.pool.query<{ value: number }>(statement);
      expect(rows).toEqual([{ value: 1 }]);
      await holder.query("rollback");
      holder.release();
    }
  });

  it("notices are known to be kept back, and arrive with a direct URL", async () => {
    const heard = (one: Database) =>
      new Promise<unknown>((resolve) => {
        const notices = one.openNotices!("pooled", {
          clock: systemClock,
          onNotice: () => {},
          onChange: (isConnected) => resolve(isConnected),
          onError: resolve,
        });
        opened.push({ ...one, close: () => notices.close() });
      });
    expect(await heard(await open({}))).toBeInstanceOf(NoticesKeptBackError);
    expect(await heard(await open({ listenUrl }))).toBe(true);
  });

  it("a parameter that it refuses is an error that says what to do", async () => {
    const strict = await startPgBouncer(listenUrl, { ignored: "extra_float_digits" });
    const refused = openDatabase({ url: strict, connectTimeoutMs: 10_000 });
    await expect(refused).rejects.toThrow(DatabaseConnectionError);
    await expect(refused).rejects.toThrow("ignore_startup_parameters");
    await open({ url: strict, statementTimeoutMs: 0 });
  });

  it("servers execute runs of each other with a direct URL and without prepared statements", async () => {
    const env = { STRATAGRAPH_LISTEN_URL: listenUrl, STRATAGRAPH_PREPARED_STATEMENTS: "false" };
    const options = { databaseUrl: url, env, development: true };
    const worker = await createServer(options);
    const front = await createServer({ ...options, concurrency: 0 });
    try {
      const post = async (path: string, body: object) =>
        front.fetch(
          new Request(`http://127.0.0.1${path}`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        );
      const spec = { name: "sum", tools: ["calculator"], llm_config: model };
      expect((await post("/v1/agents", spec)).status).toBe(201);
      const input = { input: { message: "What is 6 * 7?" } };
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => post("/runs/wait", { assistant_id: "sum", input })),
      );
      for (const answer of answers)
        expect(await answer.json()).toMatchObject({ status: "COMPLETED" });
    } finally {
      await Promise.all([worker.close(0), front.close(0)]);
    }
  }, 60_000);

  it("by session everything works without a direct URL", async () => {
    const session = await startPgBouncer(listenUrl, { mode: "session" });
    const [one, two] = [await open({ url: session }), await open({ url: session })];
    const lock = await lockThread(one, "b");
    await expect(lockThread(two, "b")).rejects.toThrow(ThreadLockedError);
    await lock.release();
  });
});

const model = { default_model: "offline:rules" };

/** A pool whose connections have the sessions that are free, as those of a pooler do. */
function fakePool(sessions: readonly number[], isSticky: boolean) {
  const held = new Map<object, number>();
  const free = () => sessions.find((pid) => ![...held.values()].includes(pid))!;
  return {
    connect: async () => {
      const client = {
        backendPid: 1,
        lost: new AbortController().signal,
        query: async (text: unknown) => {
          const pid = held.get(client) ?? free();
          if (text === "begin" || isSticky) held.set(client, pid);
          if (text === "rollback" && !isSticky) held.delete(client);
          return { rows: [{ pid }] as never[], rowCount: 1, command: "SELECT" };
        },
        release: () => void held.delete(client),
      };
      return client;
    },
  };
}

it.each([
  ["is shared by a pooler by transaction", [7, 8], false, true],
  ["is its client's own behind a pooler by session", [7, 8], true, false],
  ["is its client's own without a pooler", [1, 2], true, false],
] as const)("a session %s", async (_what, sessions, isSticky, isShared) => {
  const pool = fakePool(sessions, isSticky);
  expect(await isSessionShared(pool, await pool.connect())).toBe(isShared);
});

it.skipIf(!database.available)("a lost prepared statement is made again", async () => {
  const one = await openDatabase({ ...database.options, maxConnections: 1 });
  const statement = { name: "lost", text: "select $1::int as value", values: [1] };
  await one.pool.query(statement);
  await one.pool.query("deallocate all");
  expect((await one.pool.query(statement)).rows).toEqual([{ value: 1 }]);
  const { rows } = await one.pool.query("select name from pg_prepared_statements");
  expect(rows).toEqual([]);
  await one.close();
});

it.skipIf(!database.available)(
  "a lost prepared statement of a tenant runs in a transaction of the tenant",
  async () => {
    const one = await openDatabase({ ...database.options, maxConnections: 1 });
    await one.pool.query("create table tenants_seen (tenant text, place integer)");
    const add = (place: number) =>
      queryTenant({ pool: one.pool, role: null }, defaultTenant, {
        text: "insert into tenants_seen select current_setting('app.tenant', true), $1::integer",
        values: [place],
      });
    // The second use prepares it.
    for (const place of [1, 2]) await add(place);
    await one.pool.query("deallocate all");
    await add(3);
    const { rows } = await one.pool.query("select * from tenants_seen order by place");
    expect(rows).toEqual([1, 2, 3].map((place) => ({ tenant: defaultTenant, place })));
    await one.close();
  },
);
