import type { Queryable } from "../../pool.ts";
import { queryAllTenants, queryTenant, withTenant } from "../../tenant.ts";
import {
  checkId,
  checkPage,
  checkText,
  isoTime,
  isoTimeOrNull,
  type Page,
  type PageRequest,
  sealedText,
  toPage,
} from "../checks.ts";
import { ConflictError, NotFoundError } from "../errors.ts";
import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { Partitions } from "../partitions.ts";
import type { PlatformTables } from "../platform.ts";
import type { NewRunEvent, RunEvents } from "./events.ts";
import {
  createRun,
  createRunOnNewThread,
  type FirstRun,
  type NewClaim,
  type NewRun,
} from "./create-run.ts";
import {
  maxRunBytes,
  cancelAssignments,
  removeRun,
  runColumns,
  type RunKind,
  type RunRow,
  type RunState,
  type SummaryRow,
  summaryColumns,
} from "./run-rows.ts";

/** An execution on a thread that was asked for, with all of its turns. */
export interface Run {
  readonly id: string;
  readonly tenantId: string;
  readonly instanceId: string;
  readonly threadId: string;
  /** Number on its thread, from 1. That of a removed run is not given again. */
  readonly seq: number;
  readonly kind: RunKind;
  readonly state: RunState;
  /** What the next claim executes. */
  readonly request: Readonly<Record<string, unknown>>;
  /** How the last turn ended; null until then. */
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly priority: number;
  readonly runAt: string;
  /** Labels that a worker must have to take it, in order. */
  readonly labels: readonly string[];
  readonly epoch: number;
  /** Claims of the current request. */
  readonly attempts: number;
  readonly worker: string | null;
  readonly leaseUntil: string | null;
  readonly cancelRequestedAt: string | null;
  /** `asked`: its checkpoints are removed before it ends. `done`: they were, or there were none. */
  readonly rollback: "asked" | "done" | null;
  /** Number of the newest event; 0 where there is none. */
  readonly lastEvent: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface RunFilter extends PageRequest {
  readonly agentId?: string;
  readonly instanceId?: string;
  readonly threadId?: string;
  readonly state?: RunState | readonly RunState[];
}

/** A run without what it executes and how it ended, which may be large. */
export type RunSummary = Omit<Run, "request" | "result">;

/** How far a run is. */
export type RunProgress = Pick<Run, "state" | "lastEvent">;

/** The end of a run that is cancelled before a worker has it. */
export interface CancelledEnd {
  readonly result: object;
  readonly events: readonly NewRunEvent[];
  /** Further writes of the same transaction. */
  readonly within?: (client: Queryable) => Promise<unknown>;
}

/** The runs of tenants, as callers ask for them. Workers take them by `RunClaims`. */
export class Runs {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
    private readonly of: { readonly events: RunEvents; readonly partitions: Partitions },
  ) {}

  /**
   * Queues a run on the thread of an instance. With `claim` it is claimed at once, unless another run of the thread comes
   * first, it begins later or its tenant is suspended.
   *
   * @throws NotFoundError; ConflictError for `isExclusive`; InvalidValueError
   */
  async create(tenantId: string, given: NewRun, claim?: NewClaim): Promise<Run> {
    const row = await createRun(this.tables, { tenantId, given, claim, values: this.values });
    return toRun(row, this.values);
  }

  /**
   * Queues the first run of a new thread, or claims it as {@link create} does.
   *
   * @throws NotFoundError for an unknown version; InvalidValueError
   */
  async createOnNewThread(tenantId: string, given: FirstRun, claim?: NewClaim): Promise<Run> {
    const { tables, values } = this;
    const row = await createRunOnNewThread(tables, { tenantId, given, claim, values });
    return toRun(row, values);
  }

  /** @param of.agentId agent of which the run must be @throws NotFoundError */
  async get(
    tenantId: string,
    runId: string,
    { agentId }: { readonly agentId?: string } = {},
  ): Promise<Run> {
    const id = checkId("run", runId);
    const agent = agentId === undefined ? null : checkId("agent", agentId);
    return this.#run(tenantId, async (client) => {
      const { schema } = this.tables;
      const { rows } = await client.query<RunRow>(
        `select ${runColumns} from ${schema}.run r
        where r.tenant_id = $1::uuid and r.id = $2::uuid and ${isOfAgent(schema, "$3")}`,
        [tenantId, id, agent],
      );
      return this.#one(rows, runId);
    });
  }

  /** Removes a run that is not under way, with its events. @throws NotFoundError; ConflictError */
  async remove(tenantId: string, runId: string): Promise<void> {
    await this.#run(tenantId, async (client) => {
      const { state } = await this.#locked(client, tenantId, runId);
      await removeRun(client, this.tables.schema, { tenantId, runId, state });
    });
  }

  /** How far a run is, without its other columns. @throws NotFoundError */
  async progress(tenantId: string, runId: string): Promise<RunProgress> {
    const id = checkId("run", runId);
    const { rows } = await queryTenant<{ state: RunState; last_event: number }>(
      this.tables.tenants,
      tenantId,
      {
        text: `select state, last_event from ${this.tables.schema}.run where tenant_id = $1::uuid and id = $2::uuid`,
        values: [tenantId, id],
      },
    );
    if (rows[0] === undefined) throw new NotFoundError("run", runId);
    return { state: rows[0].state, lastEvent: rows[0].last_event };
  }

  /** Newest first. */
  async list(tenantId: string, filter: RunFilter = {}): Promise<Page<RunSummary>> {
    const { schema } = this.tables;
    const { limit, after } = checkPage(filter);
    const { agentId, instanceId, threadId, state } = filter;
    const values = [
      tenantId,
      after,
      agentId === undefined ? null : checkId("agent", agentId),
      instanceId === undefined ? null : checkId("instance", instanceId),
      threadId === undefined ? null : checkText("thread_id", threadId, 500),
      state === undefined ? null : [state].flat(),
      limit + 1,
    ];
    const { rows } = await queryTenant<SummaryRow>(this.tables.tenants, tenantId, {
      text: `select ${summaryColumns} from ${schema}.run r
        where r.tenant_id = $1::uuid and ($2::uuid is null or r.id < $2::uuid) and ${isOfAgent(schema, "$3")}
          and ($4::uuid is null or r.instance_id = $4::uuid) and ($5::text is null or r.thread_id = $5)
          and ($6::text[] is null or r.state = any($6::text[]))
        order by r.id desc limit $7`,
      values: values,
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toSummary });
  }

  /**
   * Queues a run again with its next turn, the answers it waits for, or another try.
   *
   * @throws NotFoundError; ConflictError if the run is queued or running, or in none of the states of `from`
   */
  async requeue(
    tenantId: string,
    given: {
      readonly runId: string;
      readonly kind: RunKind;
      readonly request: object;
      /** States in which the caller expects the run. Default: all but `queued` and `running`. */
      readonly from?: readonly RunState[];
    },
  ): Promise<Run> {
    const id = checkId("run", given.runId);
    const request = this.#requestText(given.request);
    return this.#run(tenantId, async (client) => {
      const { rows } = await client.query<RunRow>(
        `update ${this.tables.schema}.run as r set state = 'queued', kind = $3, request = $4::json, run_at = $5, attempts = 0,
          cancel_requested_at = null, ended_at = null
        where tenant_id = $1::uuid and id = $2::uuid and state not in ('queued', 'running')
          and ($6::text[] is null or state = any($6::text[])) returning ${runColumns}`,
        [tenantId, id, given.kind, request, this.tables.clock.now(), given.from ?? null],
      );
      if (rows.length > 0) return this.#one(rows, given.runId);
      const { state } = await this.#locked(client, tenantId, given.runId);
      const expected = given.from?.join(" or ") ?? "none that is queued or running";
      throw new ConflictError("run", `Expected the run as ${expected}, got ${state}.`);
    });
  }

  /**
   * Puts a dead run back into the queue with what it was executing, also if its thread waits in the meantime. `isRetried`
   * is false for one that is queued or running, as after an earlier call.
   *
   * @throws NotFoundError; ConflictError for a run in another state, and once a later run of its thread has begun
   */
  async retry(
    tenantId: string,
    runId: string,
  ): Promise<{ readonly run: Run; readonly isRetried: boolean }> {
    const { schema, clock } = this.tables;
    return this.#run(tenantId, async (client) => {
      const { state } = await this.#locked(client, tenantId, runId);
      const { rows } = await client.query<RunRow>(
        // The next claim is the second one of the request: it continues what earlier ones have begun.
        `update ${schema}.run as r set state = 'queued', run_at = $3, attempts = 1, cancel_requested_at = null, ended_at = null
        where tenant_id = $1::uuid and id = $2::uuid and state = 'dead' and not exists (select from ${schema}.run o
          where o.tenant_id = r.tenant_id and o.thread_id = r.thread_id and o.seq > r.seq and o.started_at is not null)
        returning ${runColumns}`,
        [tenantId, runId, clock.now()],
      );
      if (rows.length > 0) return { run: this.#one(rows, runId), isRetried: true };
      if (state === "dead") {
        throw new ConflictError("run", "A later run of the thread has begun. Send a new turn.");
      }
      if (state !== "queued" && state !== "running")
        throw new ConflictError("run", `Expected a dead run, got ${state}.`);
      const { rows: same } = await client.query<RunRow>(
        `select ${runColumns} from ${schema}.run r where r.tenant_id = $1::uuid and r.id = $2::uuid`,
        [tenantId, runId],
      );
      return { run: this.#one(same, runId), isRetried: false };
    });
  }

  /** The dead runs of all tenants, newest first: for operators. */
  async listDead(page: PageRequest = {}): Promise<Page<RunSummary>> {
    const { limit, after } = checkPage(page);
    const { rows } = await queryAllTenants<SummaryRow>(this.tables.tenants.pool, {
      text: `select ${summaryColumns} from ${this.tables.schema}.run r
        where r.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event', 'dead') and r.state = 'dead' and ($1::uuid is null or r.id < $1::uuid)
        order by r.id desc limit $2`,
      values: [after, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toSummary });
  }

  /** The tenant of a run: for operators. @throws NotFoundError */
  async tenantOf(runId: string): Promise<string> {
    const { rows } = await queryAllTenants<{ tenant_id: string }>(this.tables.tenants.pool, {
      text: `select tenant_id from ${this.tables.schema}.run where id = $1::uuid`,
      values: [checkId("run", runId)],
    });
    if (rows[0] === undefined) throw new NotFoundError("run", runId);
    return rows[0].tenant_id;
  }

  /**
   * Asks for a run to be cancelled. One that no worker has is cancelled at once; a running one ends when its worker sees the
   * request. `was` is the state before; an ended run stays as it is.
   *
   * @param of.rollsBack whether the checkpoints of a graph's run are removed too. One that a worker had before stays
   * queued, and the next worker removes them. Default false
   * @param of.endOf the result and the last events of a run that is cancelled at once, written with it; default none
   * @throws NotFoundError
   */
  async requestCancel(
    tenantId: string,
    runId: string,
    of: { readonly rollsBack?: boolean; readonly endOf?: (run: Run) => CancelledEnd } = {},
  ): Promise<{ readonly run: Run; readonly was: RunState }> {
    const { events, partitions } = this.of;
    const { rollsBack = false, endOf } = of;
    const cancel = async (client: Queryable) => {
      const { state: was } = await this.#locked(client, tenantId, runId);
      const { rows } = await client.query<RunRow>(
        `update ${this.tables.schema}.run as r set ${cancelAssignments}
        where tenant_id = $1::uuid and id = $2::uuid returning ${runColumns}`,
        [tenantId, runId, this.tables.clock.now(), rollsBack],
      );
      const run = this.#one(rows, runId);
      if (endOf === undefined || run.state === was || run.state !== "cancelled")
        return { run, was };
      const end = endOf(run);
      const checked = events.check(end.events);
      const { rows: ended } = await client.query<RunRow>(
        `update ${this.tables.schema}.run as r set result = $3::json, last_event = last_event + $4
        where tenant_id = $1::uuid and id = $2::uuid returning ${runColumns}`,
        [
          tenantId,
          runId,
          sealedText(this.values, "result", end.result, maxRunBytes),
          end.events.length,
        ],
      );
      const last = this.#one(ended, runId);
      await events.insert(client, { tenantId, id: runId, last: last.lastEvent }, checked);
      await end.within?.(client);
      return { run: last, was };
    };
    return partitions.withDays([this.tables.ids()], () => this.#run(tenantId, cancel));
  }

  async #run<T>(tenantId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    return withTenant(this.tables.tenants, tenantId, work);
  }

  async #locked(client: Queryable, tenantId: string, runId: string): Promise<Pick<Run, "state">> {
    const { rows } = await client.query<Pick<Run, "state">>(
      `select state from ${this.tables.schema}.run where tenant_id = $1::uuid and id = $2::uuid for update`,
      [tenantId, checkId("run", runId)],
    );
    if (rows[0] === undefined) throw new NotFoundError("run", runId);
    return rows[0];
  }

  #one([row]: readonly RunRow[], id: string): Run {
    if (row === undefined) throw new NotFoundError("run", id);
    return toRun(row, this.values);
  }

  #requestText(request: object): string | null {
    return sealedText(this.values, "request", request, maxRunBytes);
  }
}

/** A condition on `run r`; true where the agent is null. */
function isOfAgent(schema: string, agent: string): string {
  return `(${agent}::uuid is null or exists (select from ${schema}.agent_instance i
    where i.tenant_id = r.tenant_id and i.id = r.instance_id and i.agent_id = ${agent}::uuid))`;
}

export function toRun(row: RunRow, values: ValueCipher): Run {
  return {
    ...toSummary(row),
    request: values.openJson(row.request) as Run["request"],
    result: row.result === null ? null : (values.openJson(row.result) as Run["result"]),
  };
}

function toSummary(row: SummaryRow): RunSummary {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    instanceId: row.instance_id,
    threadId: row.thread_id,
    seq: row.seq,
    kind: row.kind,
    state: row.state,
    priority: row.priority,
    runAt: isoTime(row.run_at),
    labels: row.labels,
    epoch: row.epoch,
    attempts: row.attempts,
    worker: row.worker,
    leaseUntil: isoTimeOrNull(row.lease_until),
    cancelRequestedAt: isoTimeOrNull(row.cancel_requested_at),
    rollback: row.rollback,
    lastEvent: row.last_event,
    metadata: row.metadata,
    createdAt: isoTime(row.created_at),
    startedAt: isoTimeOrNull(row.started_at),
    endedAt: isoTimeOrNull(row.ended_at),
  };
}
