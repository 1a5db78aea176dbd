import { StratagraphError } from "../../../errors.ts";
import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { Queryable } from "../../pool.ts";
import { queryAllTenants, queryTenant, withTenant } from "../../tenant.ts";
import { checkText, sealedText } from "../checks.ts";
import { ConflictError } from "../errors.ts";
import type { PlatformTables } from "../platform.ts";
import { createRunWithin } from "../runs/create-run.ts";
import { maxRunBytes, runColumns, type RunRow } from "../runs/run-rows.ts";
import { type Run, toRun } from "../runs/runs.ts";
import type { Resumption } from "./timers.ts";

/** An event that was sent to a thread. */
export interface ThreadEvent {
  readonly name: string;
  readonly payload: unknown;
}

/** A message that is kept for the turns of a thread. */
export interface ThreadMessage {
  readonly id: string;
  readonly content: string;
}

/** What became of an event, and the run that it concerns. */
interface SentEvent {
  readonly was: "delivered" | "kept";
  readonly runId: string | null;
}

interface Keyed {
  /** Idempotency-Key of the request. */
  readonly key: string | null;
}

type Thread = Pick<Run, "tenantId" | "threadId" | "instanceId">;

/** Undelivered events of a thread. */
const maxKept = 100;
/** Milliseconds for which an event is kept. */
const keptMs = 7 * 86_400_000;
const maxPayloadBytes = 131_072;
/** Runs of a thread that begin to wait, one after the other, while an event is sent. */
const maxRaces = 5;

/** A run has begun to wait since the transaction looked. */
class WaitBegunError extends StratagraphError {
  readonly code = "wait_begun";
  override readonly kind = "run";
  override readonly transient = true;

  constructor() {
    super("Runs of the thread began to wait while the event was sent. Send it again.");
  }
}

/**
 * Events that are sent to threads: to a run that waits for one, or kept for a wait to come; and messages, which are kept
 * for the turns of the thread.
 */
export class ThreadEvents {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /**
   * Delivers an event to a run of the thread that waits for it, or keeps it, in one transaction. An event whose key came
   * before is not sent again; `was` says what became of it.
   *
   * @param of.decide what a run that waits does with the event; null if it waits for others. What it throws is thrown on
   * @throws ConflictError for the 101st event that is kept; InvalidValueError
   */
  async send(
    { tenantId, threadId, instanceId }: Thread,
    of: {
      readonly event: ThreadEvent;
      readonly key: string | null;
      readonly decide: (run: Run) => Resumption | null;
    },
  ): Promise<SentEvent> {
    const { tenants } = this.tables;
    for (let race = 1; ; race += 1) {
      try {
        return await withTenant(tenants, tenantId, (client) =>
          this.#send(client, { tenantId, threadId, instanceId, ...of }),
        );
      } catch (thrown) {
        if (!(thrown instanceof WaitBegunError) || race >= maxRaces) throw thrown;
      }
    }
  }

  /**
   * Keeps a message until a completed turn of the thread has taken it. One whose key came before is not kept again. The
   * run is the one that executes on the thread, or that has taken the message.
   *
   * @throws ConflictError for the 101st event that is kept; InvalidValueError
   */
  async keepMessage(
    thread: Thread,
    { content, name, key }: Pick<ThreadMessage, "content"> & Pick<ThreadEvent, "name"> & Keyed,
  ): Promise<SentEvent> {
    const { tenants, schema } = this.tables;
    const { tenantId, threadId } = thread;
    return withTenant(tenants, tenantId, async (client) => {
      await this.#lockThread(client, thread);
      const before = await this.#sentBefore(client, thread, key);
      if (before?.was === "delivered") return before;
      if (before === null) {
        await this.#refuseFull(client, thread);
        const event = { name, payload: { content } };
        await this.#insert(client, thread, { event, key, isMessage: true, runId: null });
      }
      const { rows } = await client.query<{ id: string }>(
        `select id from ${schema}.run where tenant_id = $1::uuid and thread_id = $2 and state = 'running'`,
        [tenantId, threadId],
      );
      return { was: "kept", runId: rows[0]?.id ?? null };
    });
  }

  /** Returns the messages that are kept for a thread, oldest first, those that its state contains included. */
  async readMessages({
    tenantId,
    instanceId,
  }: Pick<Thread, "tenantId" | "instanceId">): Promise<readonly ThreadMessage[]> {
    const { tenants, schema, clock } = this.tables;
    const { rows } = await queryTenant<{ id: string; payload: unknown }>(tenants, tenantId, {
      text: `select id, payload from ${schema}.thread_event
        where tenant_id = $1::uuid and instance_id = $2::uuid and is_message and delivered_at is null
          and expires_at > $3 order by seq limit ${maxKept}`,
      values: [tenantId, instanceId, clock.now()],
    });
    return rows.map(({ id, payload }) => {
      const { content } = this.values.openJson(payload) as { readonly content: string };
      return { id, content };
    });
  }

  /** Marks messages as delivered that a completed turn contains. Call it within the transaction that ends its run. */
  async settleMessages(
    { tenantId, id: runId }: Pick<Run, "tenantId" | "id">,
    ids: readonly string[],
    client: Queryable,
  ): Promise<void> {
    await this.#settle(client, tenantId, { ids, runId });
  }

  /**
   * Gives a run that ends as waiting the oldest kept event that it waits for, and queues it again. Call it within the
   * transaction that ends the run. Events that `decide` refuses are dropped. Returns whether it was queued.
   */
  async take(
    run: Pick<Run, "id" | "tenantId" | "instanceId" | "kind" | "priority" | "metadata">,
    of: {
      readonly names: readonly string[];
      readonly decide: (event: ThreadEvent) => Resumption | null;
    },
    client: Queryable,
  ): Promise<boolean> {
    const { schema, clock } = this.tables;
    const { rows } = await client.query<{ id: string; name: string; payload: unknown }>(
      `select id, name, payload from ${schema}.thread_event
      where tenant_id = $1::uuid and instance_id = $2::uuid and name = any($3::text[])
        and not is_message and delivered_at is null and expires_at > $4 order by id limit ${maxKept} for update`,
      [run.tenantId, run.instanceId, of.names, clock.now()],
    );
    for (const { id, name, payload } of rows) {
      const resumption = of.decide({ name, payload: this.values.openJson(payload) });
      await this.#settle(client, run.tenantId, { ids: [id], runId: null });
      if (resumption === null) continue;
      await this.#resume(client, run, resumption);
      return true;
    }
    return false;
  }

  /** Removes events of all tenants that are no longer kept. Returns how many. */
  async sweep(): Promise<number> {
    const { tenants, schema, clock } = this.tables;
    const { rowCount } = await queryAllTenants(tenants.pool, {
      text: `delete from ${schema}.thread_event where id in
        (select id from ${schema}.thread_event where expires_at <= $1 order by expires_at limit 10000)`,
      values: [clock.now()],
    });
    return rowCount ?? 0;
  }

  async #send(
    client: Queryable,
    of: Thread & Parameters<ThreadEvents["send"]>[1],
  ): Promise<SentEvent> {
    const { schema } = this.tables;
    const { tenantId, threadId, event, key } = of;
    // Runs before their thread, as those lock them that end runs.
    const waiting = await client.query<RunRow & { readonly is_busy: boolean }>(
      `select ${runColumns}, r.kind = 'graph' and exists (select from ${schema}.run o where o.tenant_id = r.tenant_id
          and o.thread_id = r.thread_id and o.state in ('queued', 'running')) as is_busy
        from ${schema}.run r where r.tenant_id = $1::uuid and r.thread_id = $2
        and r.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event') order by r.seq for update`,
      [tenantId, threadId],
    );
    await this.#lockThread(client, of);
    const before = await this.#sentBefore(client, of, key);
    if (before !== null) return before;
    let runId: string | null = null;
    for (const row of waiting.rows) {
      // A later run is about to continue the turn of a run of a graph.
      if (row.is_busy) continue;
      const run = toRun(row, this.values);
      const resumption = of.decide(run);
      if (resumption === null) continue;
      runId = await this.#resume(client, run, resumption);
      break;
    }
    if (runId === null) {
      const { rows } = await client.query<{ waiting: string }>(
        `select count(*) as waiting from ${schema}.run where tenant_id = $1::uuid and thread_id = $2
          and state in ('awaiting_human', 'awaiting_tool', 'awaiting_event')`,
        [tenantId, threadId],
      );
      if (Number(rows[0]?.waiting) > waiting.rows.length) throw new WaitBegunError();
      await this.#refuseFull(client, of);
    }
    // A delivered event is stored for its key alone.
    if (runId === null || key !== null) {
      await this.#insert(client, of, { event, key, isMessage: false, runId });
    }
    return { was: runId === null ? "kept" : "delivered", runId };
  }

  /** One event of a thread is sent at a time. */
  async #lockThread(client: Queryable, { tenantId, instanceId }: Thread): Promise<void> {
    await client.query(
      `select from ${this.tables.schema}.agent_instance where tenant_id = $1::uuid and id = $2::uuid for update`,
      [tenantId, instanceId],
    );
  }

  /** What became of an event with the same key; null if none came. */
  async #sentBefore(
    client: Queryable,
    { tenantId, instanceId }: Thread,
    key: string | null,
  ): Promise<SentEvent | null> {
    if (key === null) return null;
    const { rows } = await client.query<{ delivered_at: Date | null; run_id: string | null }>(
      `select delivered_at, run_id from ${this.tables.schema}.thread_event
      where tenant_id = $1::uuid and instance_id = $2::uuid and key = $3`,
      [tenantId, instanceId, checkText("key", key, 255)],
    );
    const [row] = rows;
    if (row === undefined) return null;
    return { was: row.delivered_at === null ? "kept" : "delivered", runId: row.run_id };
  }

  /** @throws ConflictError if the thread keeps as many events as it may */
  async #refuseFull(client: Queryable, { tenantId, instanceId }: Thread): Promise<void> {
    const { schema, clock } = this.tables;
    const { rows } = await client.query<{ kept: string }>(
      `select count(*) as kept from ${schema}.thread_event where tenant_id = $1::uuid and instance_id = $2::uuid
        and delivered_at is null and expires_at > $3`,
      [tenantId, instanceId, clock.now()],
    );
    if (Number(rows[0]?.kept) < maxKept) return;
    const problem = `${maxKept} events of the thread wait for a run. Send it again later.`;
    throw new ConflictError("event", problem);
  }

  async #insert(
    client: Queryable,
    { tenantId, instanceId }: Thread,
    of: {
      readonly event: ThreadEvent;
      readonly isMessage: boolean;
      readonly runId: string | null;
    } & Keyed,
  ): Promise<void> {
    const { schema, ids, clock } = this.tables;
    const { event, key, isMessage, runId } = of;
    const now = clock.now();
    await client.query(
      `insert into ${schema}.thread_event
        (id, tenant_id, instance_id, name, payload, key, is_message, expires_at, created_at, delivered_at, run_id)
      values ($1::uuid, $2::uuid, $3::uuid, $4, $5::json, $6, $7, $8::timestamptz, $9::timestamptz, $10::timestamptz, $11::uuid)`,
      [
        ids(),
        tenantId,
        instanceId,
        checkText("name", event.name, 100),
        sealedText(this.values, "payload", runId === null ? event.payload : {}, maxPayloadBytes) ??
          "null",
        key,
        isMessage,
        new Date(now.getTime() + keptMs),
        now,
        runId === null ? null : now,
        runId,
      ],
    );
  }

  /** A delivered event stays for its key; another one is removed. */
  async #settle(
    client: Queryable,
    tenantId: string,
    { ids, runId }: { readonly ids: readonly string[]; readonly runId: string | null },
  ): Promise<void> {
    const { schema, clock } = this.tables;
    await client.query(
      `with kept as (
        update ${schema}.thread_event set delivered_at = $3, payload = '{}', run_id = $4::uuid
        where tenant_id = $1::uuid and id = any($2::uuid[]) and key is not null returning id
      )
      delete from ${schema}.thread_event where tenant_id = $1::uuid and id = any($2::uuid[]) and key is null`,
      [tenantId, ids, clock.now(), runId],
    );
  }

  /** Queues the run, or a new one of its thread. Returns its id. */
  async #resume(
    client: Queryable,
    run: Pick<Run, "id" | "tenantId" | "instanceId" | "kind" | "priority" | "metadata">,
    { isNewRun, definitionId, request }: Resumption,
  ): Promise<string> {
    const { tables, values } = this;
    const { id, tenantId, instanceId, kind, priority, metadata } = run;
    if (isNewRun) {
      const version = definitionId !== undefined && { definitionId };
      const given = { instanceId, kind, priority, metadata, request, ...version };
      const made = { tenantId, claim: undefined, values, given };
      return (await createRunWithin(client, tables, made)).id;
    }
    await client.query(
      `update ${tables.schema}.run set state = 'queued', kind = 'resume', request = $3::json, run_at = $4, attempts = 0
      where tenant_id = $1::uuid and id = $2::uuid`,
      [tenantId, id, sealedText(values, "request", request, maxRunBytes), tables.clock.now()],
    );
    return id;
  }
}
