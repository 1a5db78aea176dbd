import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import {
  DatabaseBusyError,
  DatabaseConnectionError,
  DatabasePermissionError,
  DatabaseReadOnlyError,
  DatabaseUnavailableError,
} from "../../src/storage/errors.ts";
import type { DatabaseClient } from "../../src/storage/pool.ts";
import { useDatabase } from "../helpers/databases.ts";

async function connectionError(url: string): Promise<DatabaseConnectionError> {
  const error: unknown = await openDatabase({ url, connectTimeoutMs: 2000 }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatabaseConnectionError);
  expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
  return error as DatabaseConnectionError;
}

test("says where nothing answers, without the password", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");

  const error = await connectionError(`postgres://user:hunter2@127.0.0.1:${port}/name`);
  expect(error).toMatchObject({
    code: "database_connection",
    url: `postgres://user:***@127.0.0.1:${port}/name`,
  });
  expect(error.message).toContain("ECONNREFUSED");
});

test("outlives a session that the server ends as soon as it is open", async () => {
  const message = (type: string, body: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(type), length, body]);
  };
  const fatal = "SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0";
  const server = createServer((socket) => {
    socket.on("error", () => {});
    // Authentication is done, the session is ready, and it ends: in one packet.
    socket.once("data", () => {
      const ready = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))];
      socket.end(Buffer.concat([...ready, message("E", Buffer.from(fatal))]));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const database = await openDatabase({ url: `postgres://user@127.0.0.1:${port}/name` });
  await expect(database.pool.query("select 1")).rejects.toBeInstanceOf(DatabaseUnavailableError);
  await database.close();
  server.close();
  await once(server, "close");
});

test("says that a URL cannot be read, without its text", async () => {
  expect((await connectionError("postgres://user:hunter2@ho st/name")).message).toContain(
    "expected postgres://",
  );
});

const database = useDatabase("postgres");

describe.skipIf(!database.available)("a Postgres pool", () => {
  const terminate = (pid: number) =>
    database.shared.pool.query("select pg_terminate_backend($1)", [pid]);
  const pidOf = async (client: DatabaseClient) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return rows[0]!.pid;
  };

  test("says what the server refused", async () => {
    const url = new URL(database.options.url!);
    url.pathname = "/no_such_database";
    url.password = "hunter2";
    const error = await connectionError(url.toString());
    expect(error.message).toContain('database "no_such_database" does not exist');
    expect(error.cause).toMatchObject({ code: "3D000" });
  });

  test("names itself and limits statements", async () => {
    const limited = await openDatabase({
      ...database.options,
      applicationName: "stratagraph test",
      statementTimeoutMs: 1_000,
    });
    const { rows } = await limited.pool.query("select current_setting('application_name') as name");
    expect(rows).toEqual([{ name: "stratagraph test" }]);
    await expect(limited.pool.query("select pg_sleep(30)")).rejects.toMatchObject({
      code: "database_timeout",
      sqlState: "57014",
    });
    await limited.close();
  });

  test.each([
    [true, [{ name: "one" }]],
    [false, []],
  ])("prepares statements with a name, when that is %j", async (preparedStatements, prepared) => {
    const other = await openDatabase({ ...database.options, preparedStatements });
    const client = await other.pool.connect();
    await client.query({ name: "one", text: "select 1" });
    await client.query("select 2");
    const { rows } = await client.query("select name from pg_prepared_statements");
    client.release();
    await other.close();
    expect(rows).toEqual(prepared);
  });

  test("prepares statements after a transaction failed before they were prepared", async () => {
    const other = await openDatabase({ ...database.options, maxConnections: 1 });
    const client = await other.pool.connect();
    const named = { name: "one", text: "select $1::int as one", values: [1] };
    const sent = ["begin; select 1 / 0", named, named, "commit"];
    const ended = await Promise.allSettled(sent.map((query) => client.query(query)));
    expect(ended.map(({ status }) => status)).toEqual([
      "rejected",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    await client.query(named);
    const { rows } = await client.query("select name from pg_prepared_statements");
    client.release();
    await other.close();
    expect(rows).toEqual([{ name: "one" }]);
  });

  test("prepares a statement that is sent again, under the same name in all pools", async () => {
    const texts = ["select $1::int as one", "select $1::text as two"];
    const namesOf = async (sent: readonly string[]) => {
      const other = await openDatabase({ ...database.options, maxConnections: 1 });
      for (const text of [...sent, ...sent]) await other.pool.query(text, [1]);
      const prepared = "select statement, name from pg_prepared_statements";
      const { rows } = await other.pool.query<{ statement: string; name: string }>(prepared);
      await other.close();
      return new Map(rows.map(({ statement, name }) => [statement, name]));
    };
    const names = await namesOf(texts);
    expect([...names.keys()].toSorted()).toEqual(texts.toSorted());
    expect(await namesOf(texts.toReversed())).toEqual(names);
  });

  test("goes on when the server ends a session in use", async () => {
    const other = await database.open();
    const client = await other.pool.connect();
    await terminate(await pidOf(client));
    await expect(client.query("select pg_sleep(30)")).rejects.toThrow(DatabaseUnavailableError);
    await expect(client.query("select 1")).rejects.toThrow(DatabaseUnavailableError);
    client.release();

    expect((await other.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  test("undoes the transaction of a session that the server ends", async () => {
    const other = await database.open();
    await other.pool.query("create table kept (id integer)");
    const client = await other.pool.connect();
    const pid = await pidOf(client);
    await client.query("begin; insert into kept values (1)");
    // The query may fail before the one that ends its session has come back.
    const [waiting] = await Promise.allSettled([
      client.query("select pg_sleep(30)"),
      terminate(pid),
    ]);
    expect(waiting).toMatchObject({
      status: "rejected",
      reason: {
        code: "database_unavailable",
        kind: "run",
        sqlState: "57P01",
        cause: { code: "57P01" },
      },
    });
    client.release();
    expect((await other.pool.query("select id from kept")).rows).toEqual([]);
  });

  test("says that all sessions are in use", async () => {
    const narrow = await openDatabase({
      ...database.options,
      maxConnections: 2,
      connectTimeoutMs: 2_000,
    });
    const clients = [await narrow.pool.connect(), await narrow.pool.connect()];
    const waiting = narrow.pool.query("select 1");
    await expect(waiting).rejects.toThrow(DatabaseBusyError);
    await expect(waiting).rejects.toMatchObject({ waitedMs: 2_000, sessions: 2 });
    for (const client of clients) client.release();
    await narrow.close();
  });

  test("names a session that the server lets nobody open any more", async () => {
    const name = `${new URL(database.options.url!).pathname.slice(1)}_short`;
    await database.shared.pool.query(`create database ${name}`);
    const url = new URL(database.options.url!);
    url.pathname = `/${name}`;
    const other = await openDatabase({ ...database.options, url: url.toString() });
    await database.shared.pool.query(`drop database ${name} with (force)`);
    // The idle session may still be there for the first query; both ways it is gone.
    await expect(other.pool.query("select 1")).rejects.toThrow(DatabaseUnavailableError);
    await expect(other.pool.query("select 1")).rejects.toMatchObject({
      code: "database_unavailable",
      sqlState: "3D000",
    });
    await other.close();
  });

  test("says that a database only lets itself be read", async () => {
    const name = new URL(database.options.url!).pathname.slice(1);
    await database.shared.pool.query(
      `alter database ${name} set default_transaction_read_only = on`,
    );
    const reader = await openDatabase(database.options);
    const writing = reader.pool.query("create table written (secret text)");
    await expect(writing).rejects.toThrow(DatabaseReadOnlyError);
    await expect(writing).rejects.toMatchObject({ code: "database_read_only", sqlState: "25006" });
    await reader.close();
    const client = await database.shared.pool.connect();
    await client.query("set default_transaction_read_only = off");
    await client.query(`alter database ${name} reset default_transaction_read_only`);
    client.release(true);
  });

  test("says what a role may not do, without what it wrote", async () => {
    const role = `${new URL(database.options.url!).pathname.slice(1)}_guest`;
    const { pool } = database.shared;
    await pool.query(`create role ${role} login; create table secrets (word text)`);
    const url = new URL(database.options.url!);
    url.username = role;
    const guest = await openDatabase({ ...database.options, url: url.toString() });
    const error: unknown = await guest.pool
      .query("insert into secrets values ($1)", ["hunter2"])
      .catch((thrown: unknown) => thrown);
    await guest.close();
    await pool.query(`drop owned by ${role}; drop role ${role}`);
    expect(error).toBeInstanceOf(DatabasePermissionError);
    expect(error).toMatchObject({ code: "database_permission", kind: "usage", sqlState: "42501" });
    expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
  });

  test("goes on when the server ends an idle session", async () => {
    const other = await database.open();
    const client = await other.pool.connect();
    const pid = await pidOf(client);
    client.release();
    await terminate(pid);

    // Until the end of the session has come through, a query may still meet it.
    await expect
      .poll(() => other.pool.query("select 1 as one").catch(() => undefined))
      .toMatchObject({ rows: [{ one: 1 }] });
  });
});
