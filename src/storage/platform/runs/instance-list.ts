import { statuses } from "../../../state/lifecycle.ts";
import type { QueryConfig } from "../../pool.ts";
import { checkId, checkText, type PageRequest } from "../checks.ts";
import { InvalidCursorError } from "../errors.ts";

/** Which threads are listed, and in which order. */
export interface InstanceFilter extends PageRequest {
  readonly status?: string;
  readonly agentId?: string;
  /** What the title or the id of the thread begins with; upper and lower case of titles are the same. 1 to 200 characters. */
  readonly beginning?: string;
  /** `activity`: threads whose runs or metadata changed last come first. Default `created`. */
  readonly order?: "created" | "activity";
}

/** Titles, and ids, that a search reads of those with the beginning, in alphabetical order. */
export const maxSearched = 1_000;

/** Below all ids of instances. */
export const firstId = "00000000-0000-0000-0000-000000000000";
/** Above all ids of instances. */
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const cursorForm = /^(\d{1,13})(\d{3})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * The statement of a list. What a page is filtered by is part of its order: one index alone has this order, so that the
 * planner takes it whatever the statistics say. Comparisons have parameters alone: row-level security lets an index make no
 * others.
 */
export function listStatement(
  { schema, columns: shown }: { readonly schema: string; readonly columns: string },
  of: InstanceFilter & { readonly tenantId: string; readonly limit: number },
): QueryConfig {
  // Without a cursor everything is before the end of time.
  const [time, id] = readCursor(of.cursor) ?? ["infinity", lastId];
  const values: unknown[] = [of.tenantId, time, id, of.limit];
  const given = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const at = of.order === "activity" ? "updated_at" : "created_at";
  const equal: Record<string, string> = {};
  if (of.agentId !== undefined) equal["agent_id"] = given(checkId("agent", of.agentId), "uuid");
  if (of.status !== undefined) equal["status"] = given(checkText("status", of.status, 100), "text");
  const columns = `${shown}, (extract(epoch from ${at}) * 1000000)::bigint::text as micros`;
  const ordered = `order by ${at} desc, id desc limit $4`;
  if (of.beginning !== undefined) {
    const beginning = given(checkText("q", of.beginning, 200), "text");
    const conditions = Object.entries(equal).map(([column, value]) => `${column} = ${value}`);
    const found = `select * from (select * from titled union all select * from named where id not in (select id from titled)) found
      where ${[...conditions, `(${at}, id) < ($2::timestamptz, $3::uuid)`].join(" and ")} ${ordered}`;
    const text = `with ${searches(`${schema}.agent_instance`, beginning)}
      select ${columns}, is_cut from (select (select count(*) from titled) > ${maxSearched} or (select count(*) from named) > ${maxSearched} as is_cut) cut
      left join (${found}) i on true order by ${at} desc, id desc`;
    return { text, values };
  }
  const page = () => {
    const key = [...Object.keys(equal), at, "id"].map((column) => `i.${column}`);
    const compare = (operator: string, last: string) =>
      `(${key.join(", ")}) ${operator} (${[...Object.values(equal), last].join(", ")})`;
    return `select i.* from ${schema}.agent_instance i where i.tenant_id = $1::uuid
      and ${compare("<", "$2::timestamptz, $3::uuid")} and ${compare(">=", `'-infinity', '${firstId}'`)}
      order by ${key.map((column) => `${column} desc`).join(", ")} limit $4`;
  };
  if (of.agentId === undefined || of.status !== undefined)
    return { text: `select ${columns} from (${page()}) i ${ordered}`, values };
  // The index of an agent has its threads by status: as many of each are read as the page has.
  const each = given(statuses, "text[]");
  equal["status"] = "s.listed";
  const text = `select ${columns} from unnest(${each}) s(listed) cross join lateral (${page()}) i ${ordered}`;
  return { text, values };
}

/** Parts of a `with`: threads of which the title has the beginning, and those of which the id has it. */
function searches(table: string, beginning: string): string {
  const part = (name: string, value: string, prefix: string) =>
    `${name} as materialized (select * from ${table} where tenant_id = $1::uuid and ${value} >= ${prefix}
      and ${value} < ${prefix} || U&'\\+10FFFF' order by ${value} limit ${maxSearched + 1})`;
  return `${part("titled", "title_key", `lower(${beginning})`)}, ${part("named", 'thread_id collate "C"', beginning)}`;
}

/** The time and the id in the cursor of a list: microseconds since 1970, and the id. Its thread may be gone. */
function readCursor(cursor: string | undefined): readonly [string, string] | null {
  if (cursor === undefined) return null;
  const [, millis, micros, id] = cursorForm.exec(cursor) ?? [];
  if (millis === undefined || id === undefined) throw new InvalidCursorError();
  const time = new Date(Number(millis)).toISOString();
  return [time.replace("Z", `${micros}Z`), id];
}
