import type { ValueCipher } from "../../encryption/value-cipher.ts";
import { queryTenant } from "../../tenant.ts";
import { checkCount, checkText, jsonbText } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";
import { type Instance, instanceColumns, type InstanceRow, toInstance } from "./instances.ts";

/** What a thread does: `busy` while a run of it is queued or running, else as its newest run ended. */
export const threadStates = ["idle", "busy", "interrupted", "error"] as const;
export type ThreadState = (typeof threadStates)[number];

/** What threads are sorted by. */
export const threadOrders = ["thread_id", "status", "created_at", "updated_at"] as const;

/** A thread with what it does. */
export interface FoundThread extends Instance {
  readonly state: ThreadState;
}

/** Which threads are asked for. All conditions hold. */
export interface ThreadFilter {
  /**
   * The metadata contains this. `graph_id` and `assistant_id` are the name and the id of the thread's agent; of a thread
   * without one they are entries as others.
   */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly threadIds?: readonly string[];
  readonly state?: ThreadState;
}

export interface ThreadQuery extends ThreadFilter {
  /** Default `created_at`. */
  readonly sortBy?: (typeof threadOrders)[number];
  /** Default `desc`. */
  readonly order?: "asc" | "desc";
  /** 1 to 1,001. */
  readonly limit: number;
  /** 0 to 1,000,000. Default 0. */
  readonly offset?: number;
}

/** Bytes of JSON of a filter by metadata: lists are compared element by element. */
const maxFilterBytes = 4_096;

/** Finds threads as LangGraph's protocol asks for them. */
export class ThreadSearch {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /** @throws InvalidValueError */
  async search(tenantId: string, query: ThreadQuery): Promise<readonly FoundThread[]> {
    const { tenants, schema } = this.tables;
    const { sortBy = "created_at", order = "desc", limit, offset = 0 } = query;
    const { where, values } = conditionsOf(schema, tenantId, query);
    values.push(
      checkCount("limit", limit, { from: 1, to: 1_001 }),
      checkCount("offset", offset, { from: 0, to: 1_000_000 }),
    );
    const sorted = orders[sortBy]
      .replaceAll("$order", order === "asc" ? "asc" : "desc")
      .replace("$state", () => stateIn(schema));
    // The states of threads before the page are not computed.
    const page = `select i.* from ${schema}.agent_instance i where ${where} order by ${sorted}
      limit $${values.length - 1} offset $${values.length}`;
    const { rows } = await queryTenant<InstanceRow & { readonly state: ThreadState }>(
      tenants,
      tenantId,
      {
        text: `select ${instanceColumns}, ${stateIn(schema)} as state from (${page}) i order by ${sorted}`,
        values: values,
      },
    );
    return rows.map((row) => ({ ...toInstance(row, this.values), state: row.state }));
  }

  /** @throws InvalidValueError */
  async count(tenantId: string, filter: ThreadFilter): Promise<number> {
    const { tenants, schema } = this.tables;
    const { where, values } = conditionsOf(schema, tenantId, filter);
    const { rows } = await queryTenant<{ count: string }>(tenants, tenantId, {
      text: `select count(*) as count from ${schema}.agent_instance i where ${where}`,
      values: values,
    });
    return Number(rows[0]?.count ?? 0);
  }

  /** Null for an unknown thread. */
  async find(tenantId: string, threadId: string): Promise<FoundThread | null> {
    checkText("thread_id", threadId, 500);
    const [found] = await this.search(tenantId, { threadIds: [threadId], limit: 1 });
    return found ?? null;
  }
}

const orders: Readonly<Record<(typeof threadOrders)[number], string>> = {
  created_at: "i.created_at $order, i.id $order",
  updated_at: "i.updated_at $order, i.id $order",
  thread_id: "i.thread_id $order",
  status: "$state $order, i.id $order",
};

/** States of runs that make the state of their thread. */
const runStatesOf: Readonly<Record<Exclude<ThreadState, "idle">, readonly string[]>> = {
  busy: ["queued", "running"],
  interrupted: ["awaiting_human", "awaiting_tool", "awaiting_event"],
  error: ["failed", "dead"],
};

function stateIn(schema: string): string {
  const runs = `from ${schema}.run r where r.tenant_id = i.tenant_id and r.thread_id = i.thread_id`;
  const listed = (state: keyof typeof runStatesOf) =>
    runStatesOf[state].map((one) => `'${one}'`).join(", ");
  // With a limit Postgres looks into an index for each thread, rather than reading all runs once.
  return `case when (select true ${runs} and r.state in (${listed("busy")}) limit 1) then 'busy' else coalesce(
    (select case when r.state in (${listed("interrupted")}) then 'interrupted' when r.state in (${listed("error")}) then 'error'
      else 'idle' end ${runs} order by r.seq desc limit 1), 'idle') end`;
}

function conditionsOf(schema: string, tenantId: string, filter: ThreadFilter) {
  const values: unknown[] = [tenantId];
  const given = (value: unknown) => `$${values.push(value)}`;
  const conditions = ["i.tenant_id = $1::uuid"];
  const { metadata, threadIds, state } = filter;
  if (threadIds !== undefined) conditions.push(`i.thread_id = any(${given(threadIds)}::text[])`);
  if (metadata !== undefined && Object.keys(metadata).length > 0) {
    const text = given(jsonbText("metadata", metadata, maxFilterBytes));
    conditions.push(`${metadataFor(metadata)} @> ${text}::jsonb`);
  }
  if (state !== undefined) {
    // The index of runs by state leads to the few threads that are not idle.
    if (state !== "idle") {
      conditions.push(
        `i.thread_id in (select o.thread_id from ${schema}.run o where o.tenant_id = $1::uuid and o.state = any(${given(runStatesOf[state])}::text[]))`,
      );
    }
    conditions.push(`${stateIn(schema)} = ${given(state)}`);
  }
  return { where: conditions.join(" and "), values };
}

/** The metadata of a thread as the protocol shows it, as far as a filter looks into it. */
function metadataFor(filter: Readonly<Record<string, unknown>>): string {
  if (!Object.hasOwn(filter, "graph_id") && !Object.hasOwn(filter, "assistant_id"))
    return "i.metadata";
  return `case when i.agent is null then i.metadata else i.metadata || jsonb_strip_nulls(jsonb_build_object('graph_id', i.agent,
    'assistant_id', i.agent_id)) end`;
}
