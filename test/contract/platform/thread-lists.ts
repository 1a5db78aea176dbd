import { beforeAll, describe, expect, test } from "vitest";
import { createValueCipher } from "../../../src/storage/encryption/value-cipher.ts";
import { InvalidCursorError } from "../../../src/storage/platform/errors.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import { maxSearched } from "../../../src/storage/platform/runs/instance-list.ts";
import { Instances } from "../../../src/storage/platform/runs/instances.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { explainingPool } from "./runs.ts";
import type { PlatformSubject } from "./subject.ts";

type Filter = NonNullable<Parameters<Instances["list"]>[1]>;

const cipher = createValueCipher([{ id: "test", key: Buffer.alloc(32, 7) }]);
const rails = { guardrail_config: { input_rails: [{ type: "pii" }] } };

/** Lists of threads as `/v1` has them: filtered, ordered, searched, with titles. */
export function threadListsContract(subject: PlatformSubject): void {
  const { database } = subject;
  describe.skipIf(!database.available)(`lists of threads on ${database.kind}`, () => {
    const execute = (text: string, values: readonly unknown[] = []) =>
      withAllTenants(subject.platform.tables.tenants.pool, (client) => client.query(text, values));
    const idsOf = async (tenantId: string, filter: Filter, from: Platform = subject.platform) => {
      const ids: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await from.instances.list(tenantId, { ...filter, ...(cursor && { cursor }) });
        ids.push(...page.items.map(({ threadId }) => threadId));
        cursor = page.next;
      }
      return ids;
    };

    describe("of thousands", () => {
      const count = 4_000;
      const agents = { common: "", rare: "" };
      let tenantId: string;

      beforeAll(async () => {
        const { tables, agents: stored } = subject.platform;
        await execute(`alter table ${tables.schema}.agent_instance set (autovacuum_enabled = off)`);
        const own = await subject.newTenant();
        tenantId = own.id;
        for (const name of ["common", "rare"] as const) {
          agents[name] = (await stored.create(tenantId, { name, definition: {} })).agentId;
        }
        await addThreads(own.id);
        await addThreads((await subject.newTenant()).id);
      });

      /** Threads of the other tenant are newer, and all of them failed, as some of the rare agent did. */
      async function addThreads(tenant: string): Promise<void> {
        const { schema } = subject.platform.tables;
        const isOwn = tenant === tenantId;
        await execute(
          `insert into ${schema}.agent_instance (id, tenant_id, thread_id, agent, agent_id, status, created_at, updated_at, metadata)
          select ($2::text || lpad(to_hex(n), 12, '0'))::uuid, $1::uuid, 'thread ' || n, 'a',
            case when n % 1000 = 0 then $4::uuid else $3::uuid end, case when $5::int > 0 or n % 2000 = 0 then 'FAILED' else 'COMPLETED' end,
            t, t, jsonb_build_object('title', 'Title ' || n % 10)
          from (select n, timestamptz '2026-01-01' + n * interval '1 ms' + $5::int * interval '1 min' as t from generate_series(1, ${count}) n) s`,
          [
            tenant,
            `ffffffff-ffff-700${isOwn ? 0 : 1}-8000-`,
            agents.common,
            agents.rare,
            isOwn ? 0 : 600,
          ],
        );
      }

      /** Rows of threads that a list reads: those that nodes of its plan returned or removed, each time they ran. */
      async function rowsRead(filter: Filter): Promise<number> {
        const { tables, values } = subject.platform;
        let plan: unknown;
        const onPlan = (text: string) => (plan = JSON.parse(text));
        const { pool } = tables.tenants;
        const begins = filter.beginning === undefined ? "select id, definition_id" : "with titled";
        const tenants = { ...tables.tenants, pool: explainingPool(pool, onPlan, begins) };
        await new Instances({ ...tables, tenants }, values).list(tenantId, filter);
        return rowsIn(plan);
      }

      test.each(["without statistics", "with those of other tenants", "with its statistics"])(
        "read the threads of their page alone, whatever they filter by, %s",
        { timeout: 60_000 },
        async (when) => {
          const { schema } = subject.platform.tables;
          const isOther = when === "with those of other tenants";
          if (isOther)
            await execute(`delete from ${schema}.agent_instance where tenant_id = $1`, [tenantId]);
          if (when !== "without statistics") await execute(`analyze ${schema}.agent_instance`);
          if (isOther) await addThreads(tenantId);
          const micros = Date.parse("2026-01-01T00:00:02Z") * 1_000;
          const middle = `${micros}.ffffffff-ffff-7000-8000-ffffffffffff`;
          const read: Record<string, number> = {};
          for (const order of ["created", "activity"] as const)
            for (const status of [undefined, "COMPLETED", "FAILED", "CANCELLED"])
              for (const agentId of [undefined, agents.common, agents.rare])
                for (const cursor of [undefined, middle])
                  for (const beginning of [undefined, "title 3", "thread 1"]) {
                    const given = { order, status, agentId, cursor, beginning, limit: 10 };
                    const filter = Object.fromEntries(
                      Object.entries(given).filter(([, value]) => value !== undefined),
                    ) as Filter;
                    const rows = await rowsRead(filter);
                    const bound =
                      beginning !== undefined
                        ? 2 * (maxSearched + 1)
                        : agentId !== undefined && status === undefined
                          ? 10 * 11
                          : 11;
                    if (rows > bound) read[JSON.stringify(filter)] = rows;
                  }
          expect(read).toEqual({});
        },
      );

      test("say where a search is cut", async () => {
        const { instances } = subject.platform;
        const cut = async (filter: Filter) =>
          (await instances.list(tenantId, { limit: 1, ...filter })).isCut;
        expect(await cut({ beginning: "thread" })).toBe(true);
        expect(await cut({ beginning: "title" })).toBe(true);
        expect(await cut({ beginning: "thread", status: "CANCELLED" })).toBe(true);
        expect(await cut({ beginning: "title 3" })).toBe(false);
        expect(await cut({})).toBe(false);
      });

      test("have the same threads as all threads that are filtered", async () => {
        const of = (n: number) => `thread ${n}`;
        const all = Array.from({ length: count }, (_, at) => count - at);
        const rare = all.filter((n) => n % 1_000 === 0);
        for (const order of ["created", "activity"] as const) {
          const found = (filter: Filter) => idsOf(tenantId, { order, limit: 200, ...filter });
          expect(await found({})).toEqual(all.map(of));
          expect(await found({ agentId: agents.rare, limit: 3 })).toEqual(rare.map(of));
          expect(await found({ status: "FAILED", limit: 1 })).toEqual([of(4_000), of(2_000)]);
          const both = { status: "COMPLETED", agentId: agents.rare };
          expect(await found(both)).toEqual([of(3_000), of(1_000)]);
          const third = all.filter((n) => n % 10 === 3);
          expect(await found({ beginning: "TITLE 3" })).toEqual(third.map(of));
          expect(await found({ beginning: "thread 300", agentId: agents.rare })).toEqual([
            of(3_000),
          ]);
        }
      });
    });

    test("go on after a cursor whose thread was deleted, or never was", async () => {
      const { instances, tables } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const made: string[] = [];
      for (let n = 0; n < 4; n += 1) {
        subject.clock.advance(1);
        made.unshift((await subject.newInstance(tenantId)).threadId);
      }
      for (const order of ["created", "activity"] as const) {
        const { next } = await instances.list(tenantId, { order, limit: 2 });
        const [micros] = next!.split(".");
        const never = `${micros}.ffffffff-ffff-7fff-8fff-ffffffffffff`;
        const rest = await idsOf(tenantId, { order, cursor: next! });
        expect(rest).toEqual(made.slice(2));
        expect((await instances.list(tenantId, { order, cursor: never })).items).toHaveLength(3);
      }
      expect((await instances.list(tenantId, { limit: 4 })).next).toBeNull();
      const { next } = await instances.list(tenantId, { limit: 2 });
      const gone = `delete from ${tables.schema}.agent_instance where tenant_id = $1 and thread_id = $2`;
      await execute(gone, [tenantId, made[1]]);
      const { items } = await instances.list(tenantId, { cursor: next! });
      expect(items.map(({ threadId }) => threadId)).toEqual(made.slice(2));
      const forged = [
        "x",
        "1",
        `-1.${tenantId}`,
        `1.${tenantId}x`,
        `1e3.${tenantId}`,
        `${"1".repeat(17)}.${tenantId}`,
        `1234.${"-".repeat(36)}`,
        next!.slice(0, -1),
      ];
      for (const cursor of forged)
        await expect(instances.list(tenantId, { cursor })).rejects.toThrow(InvalidCursorError);
    });

    test("go on within a millisecond in the order of its microseconds", async () => {
      const { tables } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const made: string[] = [];
      for (const micros of [3, 1, 2]) {
        const { threadId } = await subject.newInstance(tenantId);
        made[3 - micros] = threadId;
        const update = `update ${tables.schema}.agent_instance set created_at = $3::timestamptz where tenant_id = $1 and thread_id = $2`;
        await execute(update, [tenantId, threadId, `2026-01-01T00:00:00.12300${micros}Z`]);
      }
      for (const limit of [1, 2]) expect(await idsOf(tenantId, { limit })).toEqual(made);
    });

    /** Makes a thread, and runs on it. */
    async function threadWith(
      platform: Platform,
      tenantId: string,
      { definition = {}, requests }: { definition?: object; requests: readonly object[] },
    ) {
      const { agents, instances, runs, tables } = platform;
      const name = `agent ${tables.ids()}`;
      const { id: definitionId } = await agents.create(tenantId, { name, definition });
      const given = { threadId: tables.ids(), agent: name, definitionId };
      const { id: instanceId } = await instances.create(tenantId, given);
      const ids: string[] = [];
      for (const request of requests)
        ids.push((await runs.create(tenantId, { instanceId, definitionId, request })).id);
      return { ...given, instanceId, runs: ids };
    }
    const says = (message: string) => ({ input: { message } });

    test("have the title that the first run of a thread gave it", async () => {
      const { platform } = subject;
      const { id: tenantId } = await subject.newTenant();
      const title = async (threadId: string) =>
        (await platform.instances.onThread(tenantId, threadId))!.title;
      const made = (requests: readonly object[], definition = {}) =>
        threadWith(platform, tenantId, { requests, definition });
      expect(await title((await made([says("Hello"), says("Again")])).threadId)).toBe("Hello");
      expect(await title((await made([{ answers: {} }, says("Late")])).threadId)).toBeNull();
      expect(await title((await made([])).threadId)).toBeNull();
      // What rails would redact or refuse is not known yet.
      expect(await title((await made([says("ann@example.org")], rails)).threadId)).toBeNull();
      const none = { guardrail_config: { input_rails: [], output_rails: [{ type: "pii" }] } };
      expect(await title((await made([says("Hello")], none)).threadId)).toBe("Hello");
      const first = async (request: object, definition: object = {}) => {
        const name = `agent ${platform.tables.ids()}`;
        const { id } = await platform.agents.create(tenantId, { name, definition });
        const threadId = platform.tables.ids();
        await platform.runs.createOnNewThread(tenantId, {
          threadId,
          agent: name,
          definitionId: id,
          isEphemeral: false,
          kind: "graph",
          request,
        });
        return title(threadId);
      };
      expect(await first({ input: { messages: [{ role: "user", content: "Hi" }] } })).toBe("Hi");
      expect(await first(says("Hi"), rails)).toBeNull();
      expect(await first({ input: null })).toBeNull();
    });

    test("lose the title of a thread with its only run, and take that of the next first one", async () => {
      const { platform } = subject;
      const { instances, runs } = platform;
      const { id: tenantId } = await subject.newTenant();
      const { threadId, instanceId, ...made } = await threadWith(platform, tenantId, {
        requests: [says("First"), says("Second")],
      });
      const title = async () => (await instances.onThread(tenantId, threadId))!.title;
      const remove = async (id: string) => {
        await runs.requestCancel(tenantId, id, { endOf: () => ({ result: {}, events: [] }) });
        await runs.remove(tenantId, id);
      };
      await remove(made.runs[0]!);
      expect(await title()).toBe("First");
      await remove(made.runs[1]!);
      expect(await title()).toBeNull();
      const { definitionId } = made;
      await runs.create(tenantId, { instanceId, definitionId, request: says("Third") });
      expect(await title()).toBe("Third");
    });

    test("are searched by the beginnings of shown titles and of ids, without wildcards", async () => {
      const { platform } = subject;
      const { instances } = platform;
      const { id: tenantId } = await subject.newTenant();
      const add = (threadId: string, metadata: object = {}) =>
        instances.create(tenantId, { threadId, agent: null, metadata: { ...metadata } });
      const { threadId: spoken } = await threadWith(platform, tenantId, {
        requests: [says("Ünder 100% of_it\\ \u{1f600}")],
      });
      await instances.mergeMetadata(tenantId, (await add("Order-1")).threadId, { title: "Bills" });
      await add("order-2", { name: "order of things" });
      await add("x", { title: 7, name: "" });
      await add("y", { title: "b".repeat(300) });
      const found = async (beginning: string) => (await idsOf(tenantId, { beginning })).toSorted();
      expect(await found("üNDER 100%")).toEqual([spoken]);
      expect(await found("ünder 100% of_it\\ \u{1f600}")).toEqual([spoken]);
      expect(await found(spoken.slice(0, 20))).toEqual([spoken]);
      for (const wild of ["%", "_", "ünder%of", "order_", "\\", "'", ".*", "order-2:*"])
        expect([wild, await found(wild)]).toEqual([wild, []]);
      expect(await found("bill")).toEqual(["Order-1"]);
      // Once, though both begin with it; ids are compared as they are.
      expect(await found("order")).toEqual(["order-2"]);
      expect(await found("Order")).toEqual(["Order-1", "order-2"]);
      expect(await found("b".repeat(200))).toEqual(["y"]);
      expect(await found("7")).toEqual([]);
      const { id: other } = await subject.newTenant();
      expect(await idsOf(other, { beginning: "order" })).toEqual([]);
    });

    test("have sealed titles where values are, and search what is readable", async () => {
      const { clock, platform } = subject;
      const sealed = await openPlatform(database.shared, { clock, cipher });
      const { id: tenantId } = await subject.newTenant();
      const { threadId } = await threadWith(sealed, tenantId, { requests: [says("Sealed words")] });
      const named = { threadId: "named", agent: null, metadata: { title: "Sealed not" } };
      await sealed.instances.create(tenantId, named);
      expect((await sealed.instances.onThread(tenantId, threadId))?.title).toBe("Sealed words");
      expect(await idsOf(tenantId, { beginning: "sealed" }, sealed)).toEqual(["named"]);
      expect(await idsOf(tenantId, { beginning: threadId }, sealed)).toEqual([threadId]);
      // Without the key, and damaged, threads are listed without it.
      const titles = async () =>
        (await platform.instances.list(tenantId)).items.map(({ title }) => title);
      expect(await titles()).toEqual([null, null]);
      const { rows } = await execute(
        `update ${platform.tables.schema}.agent_instance set title = to_json(overlay(title #>> '{}' placing 'AAAA' from 60))
        where tenant_id = $1 and title is not null returning title`,
        [tenantId],
      );
      expect(rows).toHaveLength(1);
      expect((await sealed.instances.onThread(tenantId, threadId))?.title).toBeNull();
    });
  });
}

/** Rows of `agent_instance` in a plan in JSON. */
function rowsIn(plan: unknown): number {
  if (Array.isArray(plan)) return plan.reduce((sum: number, one) => sum + rowsIn(one), 0);
  if (typeof plan !== "object" || plan === null) return 0;
  const node = plan as Record<string, unknown>;
  const inner = Object.values(node).reduce((sum: number, one) => sum + rowsIn(one), 0);
  if (node["Relation Name"] !== "agent_instance") return inner;
  const counts = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"];
  const rows = counts.reduce((sum, name) => sum + Number(node[name] ?? 0), 0);
  return inner + rows * Number(node["Actual Loops"]);
}
