import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { Database } from "../../src/storage/database.ts";
import { NoticesKeptBackError } from "../../src/storage/errors.ts";
import { type Notices, PostgresNotices } from "../../src/storage/postgres-notices.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const database = useDatabase("postgres");
const opened: Notices[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((notices) => notices.close()));
});

/** Opens notices, and collects what they tell. */
function open(on: Pick<Database, "openNotices"> = database.shared, channel = "test notices") {
  const heard: string[] = [];
  const changes: boolean[] = [];
  const errors: unknown[] = [];
  const notices = on.openNotices!(channel, {
    clock: systemClock,
    onNotice: (text) => heard.push(text),
    onChange: (isConnected) => changes.push(isConnected),
    onError: (error) => errors.push(error),
  });
  opened.push(notices);
  return { notices, heard, changes, errors };
}

async function connected(changes: readonly boolean[]): Promise<void> {
  await expect.poll(() => changes.at(-1)).toBe(true);
}

describe.skipIf(!database.available)("notices on Postgres", () => {
  it("reach the other processes, and not the one that sends", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([connected(one.changes), connected(two.changes)]);
    one.notices.send("from-one");
    two.notices.send("from-two");
    await expect.poll(() => [one.heard, two.heard]).toEqual([["from-two"], ["from-one"]]);
  });

  it("are joined, and sent once each however often they are given meanwhile", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([connected(one.changes), connected(two.changes)]);
    const ids = Array.from({ length: 1_000 }, (_, at) => `id-${at}-${"x".repeat(30)}`);
    one.notices.send("first");
    for (const id of [...ids, ...ids]) one.notices.send(id);
    await expect.poll(() => two.heard.length).toBe(1_001);
    expect(two.heard).toEqual(["first", ...ids]);
  });

  it("are kept until the session is open, and sent before it closes", async () => {
    const [one, two] = [open(), open()];
    one.notices.send("early");
    await Promise.all([connected(one.changes), connected(two.changes)]);
    one.notices.send("b");
    one.notices.send("c");
    await one.notices.close();
    one.notices.send("after the end");
    await expect.poll(() => two.heard.slice(-2)).toEqual(["b", "c"]);
  });

  it("leave out a text that no statement takes", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([connected(one.changes), connected(two.changes)]);
    one.notices.send("x".repeat(8_000));
    one.notices.send("of two");
    one.notices.send("short");
    await expect.poll(() => two.heard).toEqual(["short"]);
  });

  it("of another channel are not heard", async () => {
    const [one, two, other] = [open(), open(), open(database.shared, "other")];
    await Promise.all([one, two, other].map(({ changes }) => connected(changes)));
    one.notices.send("mine");
    await expect.poll(() => two.heard).toEqual(["mine"]);
    expect(other.heard).toEqual([]);
  });

  it("arrive again after a lost session, and report the loss", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([connected(one.changes), connected(two.changes)]);
    await database.shared.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'",
    );
    await expect
      .poll(() => [one.changes, two.changes].map((changes) => changes.includes(false)))
      .toEqual([true, true]);
    await Promise.all([connected(one.changes), connected(two.changes)]);
    expect([one.errors.length > 0, two.errors.length > 0]).toEqual([true, true]);
    one.notices.send("again");
    await expect.poll(() => two.heard).toEqual(["again"]);
  });

  it("are known to be kept back by a pooler", async () => {
    const clock = new ManualClock();
    const errors: unknown[] = [];
    const changes: boolean[] = [];
    const notices = new PostgresNotices({
      config: { connectionString: database.options.url },
      channel: "kept back",
      clock,
      onNotice: () => {},
      onChange: (isConnected) => changes.push(isConnected),
      onError: (error) => errors.push(error),
      sendElsewhere: async () => {},
    });
    opened.push(notices);
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(2_000);
    await expect.poll(() => errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(NoticesKeptBackError);
    expect(changes).toEqual([]);
  });

  it("leave no session when they are closed at once", async () => {
    const { notices, changes } = open(database.shared, "closed at once");
    await notices.close();
    const { rows } = await database.shared.pool.query(
      `select from pg_stat_activity where datname = current_database() and query like 'listen "closed at once"%'`,
    );
    expect(rows).toEqual([]);
    expect(changes).toEqual([]);
  });
});

it("an embedded database has none: no other process has it open", async () => {
  const { openDatabase } = await import("../../src/storage/database.ts");
  const embedded = await openDatabase({ inMemory: true });
  expect(embedded.openNotices).toBeUndefined();
  await embedded.close();
});
