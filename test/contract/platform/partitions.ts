import { describe, expect, test } from "vitest";
import type { IdSource } from "../../../src/clock.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { InvalidValueError } from "../../../src/storage/platform/errors.ts";
import { readStatement } from "../../../src/storage/platform/runs/events.ts";
import type { PlatformSubject } from "./subject.ts";

let made = 0;

/** Ids whose time is a day's noon. */
function idsOf(day: string): IdSource {
  const time = Date.parse(`${day}T12:00:00Z`).toString(16).padStart(12, "0");
  return () => {
    made += 1;
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${made.toString(16).padStart(12, "0")}`;
  };
}

/** Partitions of days: made ahead, made when missing, left out of reads, dropped. */
export function partitionsContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(`partitions on ${subject.database.kind}`, () => {
    const schema = "days";
    const open = (ids?: IdSource) =>
      openPlatform(subject.database.shared, {
        schema,
        clock: subject.clock,
        ...(ids && { ids }),
      });
    const days = async (table: string) => {
      const { rows } = await subject.database.shared.pool.query<{ name: string }>(
        `select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = $1::regclass order by 1`,
        [`${schema}.${table}`],
      );
      return rows.map(({ name }) => name.slice(-8));
    };
    const dayAfter = (count: number) =>
      new Date(subject.clock.now().getTime() + count * 86_400_000).toISOString().slice(0, 10);
    const compact = (day: string) => day.replaceAll("-", "");

    test("are there for today and the next seven days", async () => {
      const platform = await open();
      const expected = Array.from({ length: 8 }, (_, at) => compact(dayAfter(at)));
      for (const table of ["turn", "tool_call", "llm_call", "run_event", "audit_log"])
        expect(await days(table)).toEqual(expected);
      await Promise.all([platform.partitions.ensure(9), platform.partitions.ensure(9)]);
      expect(await days("turn")).toEqual([
        ...expected,
        ...[8, 9].map((at) => compact(dayAfter(at))),
      ]);
      await expect(platform.partitions.ensure(-1)).rejects.toThrow(InvalidValueError);
    });

    test("are made for a row whose day has none", async () => {
      const platform = await open(idsOf("2031-05-06"));
      const { id } = await platform.tenants.create({ name: "late" });
      const entry = { actor: "system", action: "a", subject: "s" };
      await Promise.all([platform.audit.append(id, entry), platform.audit.append(id, entry)]);
      expect(await days("audit_log")).toContain("20310506");
      const { items } = await platform.audit.list(id);
      expect(items.map(({ at }) => at)).toEqual(Array(2).fill("2031-05-06T12:00:00.000Z"));
      const { id: instanceId } = await platform.instances.create(id, { threadId: "t", agent: "a" });
      await platform.runs.create(id, { instanceId, request: {} });
      const claim = (await platform.claims.claim({ worker: "w", leaseMs: 1_000 }))!;
      await platform.partitions.dropBefore("run_event", "2031-05-07");
      expect(await platform.events.append(claim, [{ event: "e", data: {} }])).toHaveLength(1);
      const last = { event: "done", data: {} };
      await platform.partitions.dropBefore("run_event", "2031-05-07");
      const finished = { state: "complete" as const, result: null, events: [last] };
      expect(await platform.claims.finish(claim, finished)).not.toBeNull();
      expect(await platform.events.read(id, claim.id)).toMatchObject([{ seq: 2 }]);
      await platform.partitions.ensure();
    });

    test("of days before a run are not read for its events", async () => {
      const platform = await open();
      const from = new Date(`${dayAfter(5)}T12:00:00Z`);
      const plan = await withAllTenants(platform.tables.tenants.pool, async (client) => {
        const values = [
          "00000000-0000-7000-8000-000000000000",
          platform.tables.ids(),
          from,
          0,
          10,
          1,
        ];
        const { rows } = await client.query<{ "QUERY PLAN": string }>(
          `explain ${readStatement(schema)}`,
          values,
        );
        return rows.map((row) => row["QUERY PLAN"]).join("\n");
      });
      const read = [
        ...new Set([...plan.matchAll(/on (?:\w+\.)?run_event_(\d{8})/g)].map(([, day]) => day)),
      ];
      expect(read.length).toBeGreaterThan(0);
      expect(read.filter((day) => day! < compact(dayAfter(5)))).toEqual([]);
    });

    test("are dropped once they are old enough, with their rows", async () => {
      const platform = await open(idsOf("2020-01-02"));
      const { id } = await platform.tenants.create({ name: "early" });
      await platform.audit.append(id, { actor: "system", action: "a", subject: "s" });
      const kept = (await days("audit_log")).filter((day) => day > "20200102");
      expect(await platform.partitions.dropBefore("audit_log", "2020-01-02")).toEqual({
        dropped: [],
        busy: [],
      });
      expect(await platform.partitions.dropBefore("audit_log", "2020-01-03")).toEqual({
        dropped: ["audit_log_20200102"],
        busy: [],
      });
      expect(await days("audit_log")).toEqual(kept);
      expect((await platform.audit.list(id)).items).toEqual([]);
      await expect(platform.partitions.dropBefore("audit_log", "now")).rejects.toThrow(
        InvalidValueError,
      );
    });
  });
}
