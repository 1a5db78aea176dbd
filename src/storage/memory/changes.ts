import { uuidPattern } from "../../memory/entry.ts";
import { InvalidMemoryError } from "../../memory/errors.ts";
import type { MemoryChanges } from "../../memory/store.ts";
import type { TenantTransaction } from "./transaction.ts";
import { conditionOf, indexedColumns, type IndexedRow, toIndexedEntry, Values } from "./rows.ts";

export interface ChangesOptions {
  /** A checked prefix. */
  readonly namespace: readonly string[];
  readonly position: string | null;
  readonly limit: number;
  readonly withVectors: boolean;
}

/** Where a sweep over changed entries is. Numbers of transactions have up to 20 digits. */
interface Position {
  /** The sweep reads entries of transactions that this snapshot does not see; null reads all. */
  readonly from: string | null;
  /** Where the next sweep begins: the snapshot with which this one began. Null at its beginning. */
  readonly next: string | null;
  /** The last entry that the sweep has read. */
  readonly after: { readonly changed: string; readonly id: string } | null;
}

const start: Position = { from: null, next: null, after: null };
/** `oldest running:first not begun:running, …`, as Postgres writes a snapshot. */
const snapshotForm = /^(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20}){0,9999})?)$/;
const entryForm = /^(\d{1,20})\/([0-9a-f-]{36})$/;

/**
 * Reads a page of the entries that were written since a position.
 *
 * A transaction that commits late has an older number than others that were read before. So each sweep reads what the
 * snapshot of the sweep before it did not see, of whatever number: nothing is missed, and nothing is read again for as
 * long as some transaction stays open. Numbers that this server has not given out yet are from another one, by a restored
 * dump: the first sweep reads them, later ones leave them out.
 */
export async function readChanges(
  { client, schema, tenantId, now }: TenantTransaction,
  { namespace, position, limit, withVectors }: ChangesOptions,
): Promise<MemoryChanges> {
  const { from, next, after } = parsePosition(position);
  const values = new Values();
  const parts = [conditionOf({ namespace }, { tenantId, now }, values)];
  if (from !== null) {
    parts.push(`e.changed >= ${values.add(from.slice(0, from.indexOf(":")), "xid8")}`);
    parts.push(`not pg_visible_in_snapshot(e.changed, ${values.add(from, "pg_snapshot")})`);
    parts.push("e.changed < pg_snapshot_xmax(pg_current_snapshot())");
  }
  // Without statistics the planner would sort all entries for each page.
  if (from === null) await client.query("set local enable_sort = off");
  // Under row-level security an index serves only comparisons that leak nothing: those of ids, not of transactions.
  const order = from === null ? "e.id" : "e.changed, e.id";
  if (after && from === null) parts.push(`e.id > ${values.add(after.id, "uuid")}`);
  else if (after)
    parts.push(
      `(e.changed, e.id) > (${values.add(after.changed, "xid8")}, ${values.add(after.id, "uuid")})`,
    );
  // One statement, and so one snapshot; a row of nulls where there is no entry.
  const { rows } = await client.query<Row>(
    `select pg_current_snapshot()::text as snapshot, entry.* from (select) one left join lateral (
      select ${indexedColumns}, e.changed::text as changed ${withVectors ? ", e.embedding" : ""}
      from ${schema}.memory_entry e where ${parts.join(" and ")}
      order by ${order} limit ${values.add(limit, "integer")}
    ) entry on true`,
    values.list,
  );
  const found = rows.filter((row): row is EntryOfPage => row.id !== null);
  const upcoming = next ?? rows[0]!.snapshot;
  const last = found.at(-1);
  const hasMore = found.length === limit;
  return {
    entries: found.map(toIndexedEntry),
    position: hasMore && last ? `${from ?? ""}/${upcoming}/${last.changed}/${last.id}` : upcoming,
    hasMore,
  };
}

type EntryOfPage = IndexedRow & { readonly snapshot: string; readonly changed: string };
type Row = EntryOfPage | { readonly snapshot: string; readonly id: null };

/** @throws InvalidMemoryError */
function parsePosition(position: string | null): Position {
  if (position === null) return start;
  const [from = "", next, ...rest] = position.split("/");
  if (next === undefined && isSnapshot(from)) return { ...start, from };
  const [, changed, id] = entryForm.exec(rest.join("/")) ?? [];
  const isValid =
    (from === "" || isSnapshot(from)) &&
    next !== undefined &&
    isSnapshot(next) &&
    changed !== undefined &&
    BigInt(changed) <= maxTransaction &&
    id !== undefined &&
    uuidPattern.test(id);
  if (!isValid)
    throw new InvalidMemoryError("position", ["expected one that this method returned"]);
  return { from: from === "" ? null : from, next, after: { changed, id } };
}

/** Whether Postgres takes a text as a snapshot. */
function isSnapshot(text: string): boolean {
  const [, oldest = "0", end = "0", running = ""] = snapshotForm.exec(text) ?? [];
  const numbers = running === "" ? [] : running.split(",").map(BigInt);
  const [least, most] = [BigInt(oldest), BigInt(end)];
  return (
    least > 0n &&
    least <= most &&
    most <= maxTransaction &&
    numbers.every((one, at) => one >= (numbers[at - 1] ?? least) && one < most)
  );
}

const maxTransaction = 2n ** 63n - 1n;
