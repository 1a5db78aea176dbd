import { describe, expect, it } from "vitest";
import { CancelRequests, cancelPollMs } from "../../src/storage/platform/cancel-requests.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const database = useDatabase("postgres", { hasTables: false });
const tenants = ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"];

/** The database, with a count of the queries for requests, which fail while `fails` is set. */
function watched() {
  const { pool } = database.shared;
  const seen = { queries: 0, fails: false };
  const count = (query: unknown) => {
    if (!String(query).includes("join unnest")) return;
    seen.queries += 1;
    if (seen.fails) throw new Error("The server is away.");
  };
  const counted: Database["pool"] = {
    query: (query, values) => pool.query(query, values),
    connect: async () => {
      const client = await pool.connect();
      return {
        ...(client.lost && { lost: client.lost }),
        release: (error) => client.release(error),
        query: async (query, values) => {
          count(query);
          return client.query(query, values);
        },
      };
    },
    end: async () => {},
  };
  return { seen, database: { pool: counted } };
}

describe.skipIf(!database.available)("requests to cancel on postgres", () => {
  it("are looked for every 500 ms in one query for all threads, while any is held", async () => {
    const clock = new ManualClock();
    const { seen, database: counted } = watched();
    const requests = new CancelRequests(counted, { clock });
    const locks = [await requests.lockThread("one"), await requests.lockThread("two")];
    expect(clock.pending).toBe(1);
    // Without the tables there are no requests, and holding threads makes none.
    await requests.check();
    expect(seen.queries).toBe(0);

    await new CancelRequests(database.shared, { clock }).add("two", "enough");
    await requests.check();
    expect(seen.queries).toBe(1);
    expect(locks.map(({ cancelled }) => cancelled?.aborted)).toEqual([false, true]);
    expect(locks[1]!.cancelled?.reason).toMatchObject({ code: "turn_cancelled", reason: "enough" });

    await Promise.all(locks.map((lock) => lock.release()));
    expect(clock.pending).toBe(0);
    await requests.check();
    expect(seen.queries).toBe(1);
    expect(
      (await database.shared.pool.query("select from stratagraph.cancel_request")).rows,
    ).toEqual([]);
  });

  it("are void for a run that took its thread later, and removed by it", async () => {
    const requests = new CancelRequests(database.shared, { clock: new ManualClock() });
    const at = await requests.add("later", null);
    expect(await requests.isOpen("later", at)).toBe(true);
    const lock = await requests.lockThread("later");
    await requests.check();
    expect(lock.cancelled?.aborted).toBe(false);
    expect(await requests.isOpen("later", at)).toBe(false);
    await requests.add("later", null);
    await requests.check();
    expect(lock.cancelled?.aborted).toBe(true);
    await lock.release();
  });

  it("of one tenant leave the threads of another alone", async () => {
    const [mine, other] = tenants.map(
      (tenantId) => new CancelRequests(database.shared, { clock: new ManualClock(), tenantId }),
    );
    const lock = await mine!.lockThread("shared id");
    await other!.add("shared id", "not mine");
    await mine!.check();
    expect(lock.cancelled?.aborted).toBe(false);
    await lock.release();
  });

  it("are looked for again after a look that failed", async () => {
    const clock = new ManualClock();
    const { seen, database: counted } = watched();
    const requests = new CancelRequests(counted, { clock });
    const lock = await requests.lockThread("away");
    await requests.add("away", null);
    const aborted = new Promise((resolve) => lock.cancelled!.addEventListener("abort", resolve));
    seen.fails = true;
    await expect(requests.check()).rejects.toThrow("The server is away.");
    clock.advance(cancelPollMs);
    while (clock.pending === 0) await new Promise(setImmediate);
    expect(seen.queries).toBe(2);
    expect(lock.cancelled?.aborted).toBe(false);
    seen.fails = false;
    clock.advance(cancelPollMs);
    await aborted;
    await lock.release();
  });
});
