import { randomBytes } from "node:crypto";
import type { Queryable } from "../pool.ts";
import { queryAllTenants, queryTenant, withTenant } from "../tenant.ts";
import {
  checkCount,
  checkId,
  checkPage,
  checkText,
  firstIdAt,
  isoTime,
  type Page,
  type PageRequest,
  sealedText,
  toPage,
} from "./checks.ts";
import { ConflictError, InvalidValueError, NotFoundError } from "./errors.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";
import type { PlatformTables } from "./platform.ts";

export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** Names of events; `*` is all of them. */
  readonly events: readonly string[];
  readonly isActive: boolean;
  readonly createdAt: string;
}

/** A delivery that a worker has taken, until `leaseMs` have passed. */
export interface DueDelivery {
  readonly id: string;
  readonly tenantId: string;
  readonly webhookId: string;
  readonly url: string;
  /** Signs the delivery. */
  readonly secret: string;
  readonly event: string;
  readonly body: unknown;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
}

export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly state: "queued" | "delivered" | "failed";
  readonly attempts: number;
  readonly nextAt: string;
  /** HTTP status of the last attempt, or what failed. */
  readonly lastResult: string | null;
  readonly createdAt: string;
}

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly is_active: boolean;
  readonly created_at: Date;
}

const columns = "id, url, events, is_active, created_at";
/** Webhooks of a tenant. */
const maxWebhooks = 50;
const maxBodyBytes = 262_144;

/** Deliveries that one transaction removes. */
const batchRows = 5_000;

/** Milliseconds until the second attempt; each further one waits twice as long. */
const firstBackoff = 10_000;
const longestBackoff = 3_600_000;
const maxAttempts = 10;

/** The webhooks of tenants with their deliveries, which the caller sends. */
export class Webhooks {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /**
   * Makes a webhook with a new secret, which cannot be read again.
   *
   * @throws ConflictError for more than 50; InvalidValueError
   */
  async create(
    tenantId: string,
    given: { readonly url: string; readonly events: readonly string[] },
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    const { schema, ids, clock } = this.tables;
    const url = checkText("url", given.url, 2_000);
    if (given.events.length < 1 || given.events.length > 50)
      throw new InvalidValueError("events", "1 to 50 names");
    const events = [...new Set(given.events.map((event) => checkText("events", event, 100)))];
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    return this.#run(tenantId, async (client) => {
      const { rows } = await client.query<WebhookRow>(
        `insert into ${schema}.webhook (id, tenant_id, url, events, secret, created_at)
        select $1::uuid, $2::uuid, $3, $4::text[], $5::json, $6::timestamptz
        where (select count(*) from ${schema}.webhook where tenant_id = $2::uuid) < ${maxWebhooks} returning ${columns}`,
        [ids(), tenantId, url, events, this.values.sealJson(secret), clock.now()],
      );
      if (rows[0] === undefined)
        throw new ConflictError("webhook", `A tenant has at most ${maxWebhooks} webhooks.`);
      return { webhook: toWebhook(rows[0]), secret };
    });
  }

  /** Newest first. */
  async list(tenantId: string, page: PageRequest = {}): Promise<Page<Webhook>> {
    const { limit, after } = checkPage(page);
    const { rows } = await queryTenant<WebhookRow>(this.tables.tenants, tenantId, {
      text: `select ${columns} from ${this.tables.schema}.webhook
        where tenant_id = $1::uuid and ($2::uuid is null or id < $2::uuid) order by id desc limit $3`,
      values: [tenantId, after, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toWebhook });
  }

  /** Turns a webhook off, or on again. @throws NotFoundError */
  async setActive(tenantId: string, webhookId: string, isActive: boolean): Promise<Webhook> {
    const id = checkId("webhook", webhookId);
    const { rows } = await queryTenant<WebhookRow>(this.tables.tenants, tenantId, {
      text: `update ${this.tables.schema}.webhook set is_active = $3
        where tenant_id = $1::uuid and id = $2::uuid returning ${columns}`,
      values: [tenantId, id, isActive],
    });
    if (rows[0] === undefined) throw new NotFoundError("webhook", webhookId);
    return toWebhook(rows[0]);
  }

  /** Removes a webhook, with its deliveries. @throws NotFoundError */
  async remove(tenantId: string, webhookId: string): Promise<void> {
    const id = checkId("webhook", webhookId);
    const { rowCount } = await queryTenant(this.tables.tenants, tenantId, {
      text: `delete from ${this.tables.schema}.webhook where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    if (rowCount !== 1) throw new NotFoundError("webhook", webhookId);
  }

  /**
   * Queues an event for each active webhook that wants it. Returns how many.
   *
   * @param within the transaction of the tenant that it is part of; default: one of its own
   * @throws InvalidValueError
   */
  async enqueue(
    tenantId: string,
    given: { readonly event: string; readonly body: object },
    within?: Queryable,
  ): Promise<number> {
    const { schema, ids, clock } = this.tables;
    const event = checkText("event", given.event, 100);
    const body = sealedText(this.values, "body", given.body, maxBodyBytes);
    const write = (client: Queryable) =>
      client.query(
        `insert into ${schema}.webhook_delivery (id, tenant_id, webhook_id, event, body, next_at, created_at)
        select (left($1, 15) || right(gen_random_uuid()::text, 21))::uuid, $2::uuid, w.id, $3, $4::json, $5::timestamptz, $5::timestamptz
        from ${schema}.webhook w where w.tenant_id = $2::uuid and w.is_active and w.events && array[$3::text, '*']`,
        // The time and version of the id, which each delivery completes.
        [ids(), tenantId, event, body, clock.now()],
      );
    const { rowCount } = await (within === undefined ? this.#run(tenantId, write) : write(within));
    return rowCount ?? 0;
  }

  /**
   * Takes deliveries that are due, of all tenants, oldest first. What is not recorded within `leaseMs` is taken again.
   * `limit`: 1 to 200, default 20.
   */
  async claimDue(by: {
    readonly leaseMs: number;
    readonly limit?: number;
  }): Promise<readonly DueDelivery[]> {
    const { tenants, schema, clock } = this.tables;
    const now = clock.now();
    const until = new Date(now.getTime() + by.leaseMs);
    const limit = checkCount("limit", by.limit ?? 20, { from: 1, to: 200 });
    const { rows } = await queryAllTenants<DueRow>(tenants.pool, {
      text: `with due as (
          select d.id from ${schema}.webhook_delivery d join ${schema}.webhook w on w.id = d.webhook_id and w.is_active
          where d.state = 'queued' and d.next_at <= $1::timestamptz
          order by d.next_at, d.id limit $3 for update of d skip locked
        )
        update ${schema}.webhook_delivery d set attempts = attempts + 1, next_at = $2::timestamptz
        from due, ${schema}.webhook w where d.id = due.id and w.id = d.webhook_id
        returning d.id, d.tenant_id, d.webhook_id, w.url, w.secret, d.event, d.body, d.attempts`,
      values: [now, until, limit],
    });
    return rows.map((row) => ({
      id: row.id,
      tenantId: row.tenant_id,
      webhookId: row.webhook_id,
      url: row.url,
      secret: String(this.values.openJson(row.secret)),
      event: row.event,
      body: this.values.openJson(row.body),
      attempt: row.attempts,
    }));
  }

  /**
   * Writes how an attempt went. One that failed is tried again after 10 s, 20 s, 40 s and so on to an hour, ten times in
   * all. False if the delivery was taken again meanwhile: nothing was written.
   */
  async record(
    delivery: Pick<DueDelivery, "id" | "tenantId" | "attempt">,
    outcome: { readonly isDelivered: boolean; readonly result: string },
  ): Promise<boolean> {
    const { clock } = this.tables;
    const { isDelivered } = outcome;
    const isLast = delivery.attempt >= maxAttempts;
    const state = isDelivered ? "delivered" : isLast ? "failed" : "queued";
    const wait = Math.min(firstBackoff * 2 ** (delivery.attempt - 1), longestBackoff);
    const next = new Date(clock.now().getTime() + (state === "queued" ? wait : 0));
    const { rowCount } = await this.#run(delivery.tenantId, (client) =>
      client.query(
        `update ${this.tables.schema}.webhook_delivery set state = $4, next_at = $5, last_result = $6
        where tenant_id = $1::uuid and id = $2::uuid and attempts = $3 and state = 'queued'`,
        [
          delivery.tenantId,
          checkId("delivery", delivery.id),
          delivery.attempt,
          state,
          next,
          // It may be of the server that answered.
          outcome.result.replace(/[\0\p{Surrogate}]/gu, "\u{FFFD}").slice(0, 500),
        ],
      ),
    );
    return rowCount === 1;
  }

  /** The deliveries of a webhook, newest first. @throws NotFoundError */
  async deliveries(
    tenantId: string,
    webhookId: string,
    page: PageRequest = {},
  ): Promise<Page<Delivery>> {
    const { limit, after } = checkPage(page);
    const id = checkId("webhook", webhookId);
    const { schema } = this.tables;
    const rows = await this.#run(tenantId, async (client) => {
      const { rows: found } = await client.query<DeliveryRow>(
        `select id, event, state, attempts, next_at, last_result, created_at from ${schema}.webhook_delivery
        where tenant_id = $1::uuid and webhook_id = $2::uuid and ($3::uuid is null or id < $3::uuid)
        order by id desc limit $4`,
        [tenantId, id, after, limit + 1],
      );
      if (found.length > 0) return found;
      const { rows: webhooks } = await client.query(
        `select from ${schema}.webhook where tenant_id = $1::uuid and id = $2::uuid`,
        [tenantId, id],
      );
      if (webhooks.length === 0) throw new NotFoundError("webhook", webhookId);
      return found;
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toDelivery });
  }

  /**
   * Removes deliveries of all tenants that were delivered or failed, and were queued more than `olderThanDays` days ago
   * (1 to 36,500), in transactions of at most 5,000 rows. Returns how many.
   */
  async removeEnded({ olderThanDays }: { readonly olderThanDays: number }): Promise<number> {
    const { tenants, schema, clock } = this.tables;
    const days = checkCount("olderThanDays", olderThanDays, { from: 1, to: 36_500 });
    // Ids begin with the time: the primary key has the old ones at its beginning.
    const before = firstIdAt(new Date(clock.now().getTime() - days * 86_400_000));
    let removed = 0;
    for (let rows = batchRows; rows === batchRows; removed += rows) {
      const { rowCount } = await queryAllTenants(tenants.pool, {
        text: `delete from ${schema}.webhook_delivery where id in (select id from ${schema}.webhook_delivery
            where id < $1::uuid and state in ('delivered', 'failed') order by id limit ${batchRows})`,
        values: [before],
      });
      rows = rowCount ?? 0;
    }
    return removed;
  }

  async #run<T>(tenantId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    return withTenant(this.tables.tenants, tenantId, work);
  }
}

interface DueRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly webhook_id: string;
  readonly url: string;
  readonly secret: unknown;
  readonly event: string;
  readonly body: unknown;
  readonly attempts: number;
}

interface DeliveryRow extends Pick<Delivery, "id" | "event" | "state" | "attempts"> {
  readonly next_at: Date;
  readonly last_result: string | null;
  readonly created_at: Date;
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    nextAt: isoTime(row.next_at),
    lastResult: row.last_result,
    createdAt: isoTime(row.created_at),
  };
}

function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    isActive: row.is_active,
    createdAt: isoTime(row.created_at),
  };
}
