import type { Queryable } from "../../pool.ts";
import { queryTenant, withAllTenants, withTenant } from "../../tenant.ts";
import {
  checkCount,
  checkId,
  checkPage,
  checkText,
  isoTime,
  isoTimeOrNull,
  jsonbText,
  type Page,
  type PageRequest,
  toPage,
} from "../checks.ts";
import { ConflictError, InvalidCursorError, NotFoundError } from "../errors.ts";
import type { PlatformTables } from "../platform.ts";

/** An agent on a thread. */
export interface Instance {
  readonly id: string;
  /** The version of the agent; null where the definition came from code or a file. */
  readonly definitionId: string | null;
  /** Null without a version. */
  readonly agentId: string | null;
  /** Name of the agent; null before the first run of the thread. */
  readonly agent: string | null;
  readonly threadId: string;
  /** Status of the thread's lifecycle: `CREATED`, then as the log of calls writes it with the rows of each turn. */
  readonly status: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Turns so far. */
  readonly turns: number;
  /** Sums of its turns. Calls without a known price cost nothing here. */
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number;
  readonly createdAt: string;
  /** When its metadata, or one of its runs, last changed. */
  readonly updatedAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
}

/** The instance of a thread, as it is made. */
export interface NewInstance {
  readonly threadId: string;
  /** Null: the thread gets its agent with its first run. */
  readonly agent: string | null;
  readonly definitionId?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Whether a new thread is deleted after the end of its runs. Default false. */
  readonly isEphemeral?: boolean;
}

export interface InstanceRow {
  readonly id: string;
  readonly definition_id: string | null;
  readonly agent_id: string | null;
  readonly agent: string | null;
  readonly thread_id: string;
  readonly status: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly turns: number;
  readonly tokens_in: string | number;
  readonly tokens_out: string | number;
  readonly cost_usd: number;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly started_at: Date | null;
  readonly completed_at: Date | null;
}

/** A thread that is deleted after the end of its runs. */
export interface EphemeralThread {
  /** Id of its instance. */
  readonly id: string;
  readonly tenantId: string;
  readonly threadId: string;
  /** When it last changed, as the database writes it. */
  readonly at: string;
}

export function instanceColumns(schema: string): string {
  return `id, definition_id, agent, thread_id, status, metadata, turns, tokens_in, tokens_out, cost_usd, created_at, updated_at, started_at, completed_at,
    (select d.agent_id from ${schema}.agent_definition d where d.id = definition_id) as agent_id`;
}

/** Below all ids of instances. */
const noInstance = "00000000-0000-0000-0000-000000000000";
/** Bytes of JSON of a thread's metadata. */
const maxMetadataBytes = 65_536;

interface InstanceFilter extends PageRequest {
  readonly status?: string;
  readonly agent?: string;
  readonly agentId?: string;
  /** `activity`: threads whose runs or metadata changed last come first. Default `created`. */
  readonly order?: "created" | "activity";
}

/** The agents on threads. */
export class Instances {
  constructor(private readonly tables: PlatformTables) {}

  /**
   * Makes the instance of a thread, or returns the one that is there. A thread without an agent gets the given one. Its
   * metadata stays.
   *
   * @throws ConflictError if the thread has another agent; NotFoundError for an unknown version; InvalidValueError
   */
  async create(
    tenantId: string,
    given: NewInstance,
  ): Promise<Instance & { readonly isNew: boolean }> {
    const { tables } = this;
    return withTenant(tables.tenants, tenantId, (client) =>
      createInstance(client, tables, { tenantId, given }),
    );
  }

  /**
   * Merges entries into the metadata of a thread; null for an unknown one.
   *
   * @throws InvalidValueError if the metadata would have more than 65,536 bytes
   */
  async mergeMetadata(
    tenantId: string,
    threadId: string,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<Instance | null> {
    const { tenants, schema } = this.tables;
    const thread = checkText("thread_id", threadId, 500);
    const entries = jsonbText("metadata", metadata, maxMetadataBytes);
    return withTenant(tenants, tenantId, async (client) => {
      const { rows } = await client.query<InstanceRow>(
        `update ${schema}.agent_instance set metadata = metadata || $3::jsonb, updated_at = greatest(updated_at, $4::timestamptz)
        where tenant_id = $1::uuid and thread_id = $2
        returning ${instanceColumns(schema)}`,
        [tenantId, thread, entries, this.tables.clock.now()],
      );
      if (rows[0] === undefined) return null;
      // A refusal rolls the transaction back.
      jsonbText("metadata", rows[0].metadata, maxMetadataBytes);
      return toInstance(rows[0]);
    });
  }

  /** @throws NotFoundError */
  async get(tenantId: string, instanceId: string): Promise<Instance> {
    const id = checkId("instance", instanceId);
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<InstanceRow>(tenants, tenantId, {
      text: `select ${instanceColumns(schema)} from ${schema}.agent_instance where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    if (rows[0] === undefined) throw new NotFoundError("instance", instanceId);
    return toInstance(rows[0]);
  }

  /** Ids of the agents of instances; those whose agent came from code or a file have none. */
  async agentIds(
    tenantId: string,
    instanceIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { tenants, schema } = this.tables;
    const given = instanceIds.map((id) => checkId("instance", id));
    const { rows } = await queryTenant<{ id: string; agent_id: string }>(tenants, tenantId, {
      text: `select i.id, d.agent_id from ${schema}.agent_instance i
        join ${schema}.agent_definition d on d.tenant_id = i.tenant_id and d.id = i.definition_id
        where i.tenant_id = $1::uuid and i.id = any($2::uuid[])`,
      values: [tenantId, given],
    });
    return new Map(rows.map((row) => [row.id, row.agent_id]));
  }

  /** The instance of a thread; null where there is none. */
  async onThread(tenantId: string, threadId: string): Promise<Instance | null> {
    const { tenants, schema } = this.tables;
    const thread = checkText("thread_id", threadId, 500);
    const { rows } = await queryTenant<InstanceRow>(tenants, tenantId, {
      text: `select ${instanceColumns(schema)} from ${schema}.agent_instance where tenant_id = $1::uuid and thread_id = $2`,
      values: [tenantId, thread],
    });
    return rows[0] === undefined ? null : toInstance(rows[0]);
  }

  /**
   * The ephemeral threads of all tenants whose last run ended before a time, those that ended first. Only such threads,
   * and those that run, are read.
   *
   * @param of.after the last one of the page before
   */
  async endedEphemeral(of: {
    readonly before: Date;
    readonly limit: number;
    readonly after?: EphemeralThread;
  }): Promise<readonly EphemeralThread[]> {
    const { tenants, schema } = this.tables;
    const { before, after } = of;
    const limit = checkCount("limit", of.limit, { from: 1, to: 1_000 });
    const { rows } = await withAllTenants(tenants.pool, (client) =>
      client.query<{ id: string; tenant_id: string; thread_id: string; at: string }>(
        // As text the time is exact.
        `select i.id, i.tenant_id, i.thread_id, i.updated_at::text as at from ${schema}.agent_instance i
        where i.is_ephemeral and i.updated_at < $1 and (i.updated_at, i.id) > ($2::timestamptz, $3::uuid)
          and not exists (select from ${schema}.run r where r.instance_id = i.id and r.state in ('queued', 'running'))
        order by i.updated_at, i.id limit $4`,
        [before, after?.at ?? "-infinity", after?.id ?? noInstance, limit],
      ),
    );
    return rows.map((row) => ({
      id: row.id,
      tenantId: row.tenant_id,
      threadId: row.thread_id,
      at: row.at,
    }));
  }

  /** Newest first, or by its last activity. */
  async list(tenantId: string, filter: InstanceFilter = {}): Promise<Page<Instance>> {
    const { tenants, schema } = this.tables;
    if (filter.order === "activity") return this.#listActive(tenantId, filter);
    const { limit, after } = checkPage(filter);
    const status = filter.status === undefined ? null : checkText("status", filter.status, 100);
    const agent = filter.agent === undefined ? null : checkText("agent", filter.agent, 200);
    const agentId = filter.agentId === undefined ? null : checkId("agent", filter.agentId);
    const { rows } = await queryTenant<InstanceRow>(tenants, tenantId, {
      text: `select ${instanceColumns(schema)} from ${schema}.agent_instance
        where tenant_id = $1::uuid and ($2::uuid is null or id < $2::uuid)
          and ($3::text is null or status = $3) and ($4::text is null or agent = $4)
          and ($5::uuid is null or definition_id in (select d.id from ${schema}.agent_definition d where d.agent_id = $5::uuid))
        order by id desc limit $6`,
      values: [tenantId, after, status, agent, agentId, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toInstance });
  }

  async #listActive(tenantId: string, filter: InstanceFilter): Promise<Page<Instance>> {
    const { tenants, schema } = this.tables;
    const { limit } = checkPage({ ...(filter.limit !== undefined && { limit: filter.limit }) });
    const [micros, id] = readActivityCursor(filter.cursor) ?? [null, null];
    const status = filter.status === undefined ? null : checkText("status", filter.status, 100);
    const agentId = filter.agentId === undefined ? null : checkId("agent", filter.agentId);
    const { rows } = await queryTenant<InstanceRow & { readonly micros: string }>(
      tenants,
      tenantId,
      {
        // Without a cursor everything is before the end of time.
        text: `select ${instanceColumns(schema)}, (extract(epoch from updated_at) * 1000000)::bigint::text as micros
          from ${schema}.agent_instance
          where tenant_id = $1::uuid and ($4::text is null or status = $4)
            and (updated_at, id) < (coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
            and ($5::uuid is null or definition_id in (select d.id from ${schema}.agent_definition d where d.agent_id = $5::uuid))
          order by updated_at desc, id desc limit $6`,
        values: [tenantId, micros, id, status, agentId, limit + 1],
      },
    );
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const next = rows.length > limit && last !== undefined ? `${last.micros}.${last.id}` : null;
    return { items: shown.map(toInstance), next };
  }
}

/** The cursor of a list by activity: microseconds since 1970, and the id. */
function readActivityCursor(cursor: string | undefined): readonly [string, string] | null {
  if (cursor === undefined) return null;
  const [, micros, id] = /^(\d{1,17})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (micros === undefined || id === undefined) throw new InvalidCursorError();
  return [micros, checkId("instance", id)];
}

/** Makes the instance of a thread as `Instances.create` does, within a transaction of its tenant. */
export async function createInstance(
  client: Queryable,
  { schema, ids, clock }: PlatformTables,
  { tenantId, given }: { readonly tenantId: string; readonly given: NewInstance },
): Promise<Instance & { readonly isNew: boolean }> {
  const { definitionId = null, isEphemeral = false } = given;
  if (definitionId !== null) checkId("agent", definitionId);
  const id = ids();
  const inserted = await client.query<InstanceRow>(
    // A foreign key alone would take the version of another tenant.
    `insert into ${schema}.agent_instance as i (id, tenant_id, definition_id, agent, thread_id, metadata, created_at, updated_at, is_ephemeral)
    select $1::uuid, $2::uuid, $3::uuid, $4, $5, $6::jsonb, $7, $7, $8::boolean
    where $3::uuid is null or exists (select from ${schema}.agent_definition where tenant_id = $2::uuid and id = $3::uuid)
    on conflict (tenant_id, thread_id) do update set agent = excluded.agent, definition_id = excluded.definition_id
      where i.agent is null and excluded.agent is not null
    returning ${instanceColumns(schema)}`,
    [
      id,
      tenantId,
      definitionId,
      given.agent === null ? null : checkText("agent", given.agent, 200),
      checkText("thread_id", given.threadId, 500),
      jsonbText("metadata", given.metadata ?? {}, maxMetadataBytes),
      clock.now(),
      isEphemeral,
    ],
  );
  if (inserted.rows[0]) {
    return { ...toInstance(inserted.rows[0]), isNew: inserted.rows[0].id === id };
  }
  const { rows } = await client.query<InstanceRow>(
    `select ${instanceColumns(schema)} from ${schema}.agent_instance where tenant_id = $1::uuid and thread_id = $2`,
    [tenantId, given.threadId],
  );
  if (rows[0] === undefined) throw new NotFoundError("agent", definitionId ?? "");
  if (given.agent !== null && rows[0].agent !== given.agent) {
    throw new ConflictError(
      "thread",
      `The thread ${JSON.stringify(given.threadId)} belongs to the agent ${JSON.stringify(rows[0].agent)}. Choose another thread.`,
    );
  }
  return { ...toInstance(rows[0]), isNew: false };
}

export function toInstance(row: InstanceRow): Instance {
  return {
    id: row.id,
    definitionId: row.definition_id,
    agentId: row.agent_id,
    agent: row.agent,
    threadId: row.thread_id,
    status: row.status,
    metadata: row.metadata,
    turns: row.turns,
    tokensIn: Number(row.tokens_in),
    tokensOut: Number(row.tokens_out),
    costUsd: row.cost_usd,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    startedAt: isoTimeOrNull(row.started_at),
    completedAt: isoTimeOrNull(row.completed_at),
  };
}
