import { describe, expect, test } from "vitest";
import { InvalidMemoryError } from "../../../src/memory/errors.ts";
import {
  type DatabaseMemory,
  openDatabaseMemory,
} from "../../../src/storage/memory/database-memory.ts";
import { DatabaseFullError } from "../../../src/storage/errors.ts";
import type { DatabasePool } from "../../../src/storage/pool.ts";
import { withAllTenants, withTenant } from "../../../src/storage/tenant.ts";
import { newTenant, vectorAt } from "../../contract/memory-store.ts";
import { type TestDatabase, useDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { hasPgvector } from "../../helpers/pgvector.ts";

const postgres = useDatabase("postgres");
const pglite = useDatabase("pglite");
const namespace = ["agents"];
const withVectors = await hasPgvector();

describe.skipIf(!withVectors)("memories on Postgres", () => {
  let opened: DatabaseMemory | undefined;
  /** The same tables for all tests: making them takes a second. */
  const memories = () => (opened ??= openDatabaseMemory(postgres.shared));

  test("are set up once when 4 pools set them up at the same time", async () => {
    const schema = "raced";
    const databases = await Promise.all([1, 2, 3, 4].map(() => postgres.open()));
    const tenant = newTenant();
    await Promise.all(
      databases.map((database, at) =>
        openDatabaseMemory(database, { schema })
          .forTenant(tenant)
          .add([{ namespace, content: `${at}`, embedding: { model: "m", vector: vectorAt(at) } }]),
      ),
    );
    const store = openDatabaseMemory(postgres.shared, { schema }).forTenant(tenant);
    expect(await store.nearest({}, { model: "m", vector: vectorAt(2) }, 9)).toHaveLength(4);
  });

  test("report an entry whose transaction commits after later ones were read", async () => {
    const tenant = newTenant();
    const store = memories().forTenant(tenant);
    const [late] = await store.add([{ namespace, content: "late" }]);
    const tenants = { pool: postgres.shared.pool, role: null };
    const first = await store.changes(namespace, null, 10);
    let position = "";
    await withTenant(tenants, tenant, async (client) => {
      await client.query(
        `update stratagraph.memory_entry set changed = pg_current_xact_id(), content = 'new'
        where tenant_id = $1`,
        [tenant],
      );
      await store.add([{ namespace, content: "early" }]);
      const meanwhile = await store.changes(namespace, first.position, 10);
      expect(meanwhile.entries.map(({ content }) => content)).toContain("early");
      ({ position } = meanwhile);
    });
    const after = await store.changes(namespace, position, 10);
    expect(after.entries.find(({ id }) => id === late!.id)?.content).toBe("new");
  });

  test("report nothing again for as long as a transaction stays open", async () => {
    const store = openDatabaseMemory(postgres.shared, { schema: "open" }).forTenant(newTenant());
    await store.add([{ namespace, content: "first" }]);
    const client = await postgres.shared.pool.connect();
    try {
      await client.query("begin; select pg_current_xact_id()");
      await store.add(["second", "third"].map((content) => ({ namespace, content })));
      const read: string[] = [];
      let position: string | null = null;
      for (let pages = 0; pages < 6; pages += 1) {
        const page = await store.changes(namespace, position, 2);
        read.push(...page.entries.map(({ content }) => content));
        ({ position } = page);
      }
      expect(read.toSorted()).toEqual(["first", "second", "third"]);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test.each([
    "",
    "5",
    "5:4:",
    "0:9:",
    "3:9:2",
    "3:9:9",
    "3:9:5,4",
    "3:9:/3:9:",
    "/3:9:/4/x",
    "a:b:c",
  ])("refuse the position %j, which they have not returned", async (position) => {
    const store = openDatabaseMemory(postgres.shared).forTenant(newTenant());
    await expect(store.changes(namespace, position, 1)).rejects.toThrow(InvalidMemoryError);
  });

  test("report entries of a restored dump once", async () => {
    const tenant = newTenant();
    const store = memories().forTenant(tenant);
    await store.add(["a", "b", "c"].map((content) => ({ namespace, content })));
    await withAllTenants(postgres.shared.pool, (client) =>
      client.query(
        "update stratagraph.memory_entry set changed = '1000000000000000000' where tenant_id = $1",
        [tenant],
      ),
    );
    const read: string[] = [];
    let position: string | null = null;
    for (let more = true; more;) {
      const page = await store.changes(namespace, position, 1);
      read.push(...page.entries.map(({ content }) => content));
      ({ position, hasMore: more } = page);
    }
    expect(read.toSorted()).toEqual(["a", "b", "c"]);
    expect((await store.changes(namespace, position, 10)).entries).toEqual([]);
  });

  test("give a key that several transactions add in other orders to one of them", async () => {
    const store = memories().forTenant(newTenant());
    const entries = ["a", "b", "c", "d"].map((key) => ({ namespace, key, content: key }));
    const added = await Promise.all(
      [entries, entries.toReversed(), entries, entries.toReversed()].map((all) => store.add(all)),
    );
    expect(added.flat().filter(({ isNew }) => isNew)).toHaveLength(4);
  });
});

function upgradeTests(database: TestDatabase): void {
  describe.skipIf(database.kind === "postgres" && !withVectors)(
    `vectors from before pgvector on ${database.kind}`,
    () => {
      test("are found at once, and move to the index in pages", async () => {
        // On PGlite in tables that are there: to make others takes a second.
        const schema = database.kind === "postgres" ? "upgraded" : "stratagraph";
        const model = "upgraded";
        const tenant = newTenant();
        const open = (vectors: "scan" | "auto") =>
          openDatabaseMemory(database.shared, { schema, vectors }).forTenant(tenant);
        const before = open("scan");
        await before.add(
          Array.from({ length: 501 }, (_, at) => ({
            namespace,
            key: `${at}`,
            content: "x",
            embedding: { model, vector: vectorAt(0, 3, at / 100) },
          })),
        );
        const after = open("auto");
        const query = { model, vector: vectorAt(0, 3, 5) };
        const nearest = await before.nearest({}, query, 3);
        const indexed = async () => {
          const { rows } = await withAllTenants(database.shared.pool, (client) =>
            client.query<{ entries: number; vectors: number; indexes: number }>(
              `select (select count(*)::integer from ${schema}.memory_entry where tenant_id = $1 and is_indexed) as entries,
                (select count(*)::integer from ${schema}.memory_vector where tenant_id = $1) as vectors,
                (select count(*)::integer from pg_indexes where indexdef like '%hnsw%' and indexdef like '%upgraded''%') as indexes`,
              [tenant],
            ),
          );
          return rows[0];
        };
        const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);
        expect(ids(await after.nearest({}, query, 3))[0]).toBe(nearest[0]!.id);
        expect(await indexed()).toEqual({ entries: 500, vectors: 500, indexes: 1 });
        expect(ids(await after.nearest({}, query, 1))).toEqual([nearest[0]!.id]);
        expect(await indexed()).toEqual({ entries: 501, vectors: 501, indexes: 1 });
        // A process without the index writes meanwhile.
        const { id } = nearest[0]!;
        await before.setVectors([{ id, model, vector: vectorAt(2, 3) }]);
        const found = await after.nearest({}, { model, vector: vectorAt(2, 3) }, 1);
        expect(ids(found)).toEqual([id]);
        await before.update(id, { content: "new" });
        expect(ids(await after.nearest({}, query, 501))).not.toContain(id);
      });
    },
  );
}

upgradeTests(postgres);
upgradeTests(pglite);

describe("memories of all tenants", () => {
  test("lose what has expired in one sweep", async () => {
    const clock = new ManualClock();
    const memories = openDatabaseMemory(pglite.shared, { clock });
    const stores = [newTenant(), newTenant()].map((tenant) => memories.forTenant(tenant));
    for (const store of stores) {
      await store.add([{ namespace, content: "x", expires_at: "2026-01-01T00:00:01Z" }]);
      await store.add([{ namespace, content: "y" }]);
    }
    clock.advance(1_000);
    expect(await memories.sweepAll()).toBe(2);
    expect(await memories.sweepAll()).toBe(0);
    expect(await stores[1]!.count({})).toBe(1);
  });
});

describe("an index of vectors that cannot be made", () => {
  test("costs no entry: those that were stored are reported, and found one by one", async () => {
    const { pool } = pglite.shared;
    const failing: DatabasePool = {
      ...(pool.heldLocks && { heldLocks: pool.heldLocks }),
      query: (query, values) => pool.query(query, values),
      end: () => pool.end(),
      async connect() {
        const client = await pool.connect();
        return {
          release: (error) => client.release(error),
          async query(query, values) {
            if (typeof query === "string" && query.includes("using hnsw"))
              throw new DatabaseFullError("no space left", "53100", undefined);
            return client.query(query, values);
          },
        };
      },
    };
    const memories = openDatabaseMemory({ pool: failing }, { exactUpTo: 0 });
    const store = memories.forTenant(newTenant());
    const embedding = { model: "full", vector: vectorAt(0) };
    const [added] = await store.add([{ namespace, content: "x", embedding }]);
    expect(added?.isNew).toBe(true);
    expect((await store.nearest({}, embedding, 1)).map(({ id }) => id)).toEqual([added?.id]);
  });
});

describe("memories that were never used", () => {
  test("are forgotten and swept without making their tables", async () => {
    const schema = "unused";
    const store = openDatabaseMemory(pglite.shared, { schema }).forTenant(newTenant());
    const none = { entries: 0, archived: 0, uses: 0, threads: [] };
    expect(await store.forget({ threadId: "t" })).toEqual(none);
    expect(await store.sweep()).toBe(0);
    const { rows } = await pglite.shared.pool.query(
      "select from pg_namespace where nspname = 'unused'",
    );
    expect(rows).toEqual([]);
  });
});
