import { z } from "zod";
import { retentionSettingsSchema } from "../retention/policy.ts";
import { queryAllTenants, queryTenant, withTenant } from "../tenant.ts";
import { sqlStateOf } from "../errors.ts";
import {
  checkId,
  checkPage,
  checkText,
  isoTime,
  isoTimeOrNull,
  jsonbText,
  type Page,
  type PageRequest,
  toPage,
} from "./checks.ts";
import { ConflictError, InvalidValueError, NotFoundError } from "./errors.ts";
import type { PlatformTables } from "./platform.ts";

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Limits of a tenant, and the ages of its data. What is left out is not limited, or has its default. */
export const tenantSettingsSchema = z.strictObject({
  /** Sums of a day in UTC. */
  quota: z
    .strictObject({
      requests: count.optional(),
      /** Tokens in and out. */
      tokens: count.optional(),
      cost_usd: z.number().min(0).max(1e9).optional(),
    })
    .optional(),
  rate: z
    .strictObject({
      requests_per_minute: count.min(1).optional(),
      /** Requests at once. */
      burst: count.min(1).optional(),
    })
    .optional(),
  retention: retentionSettingsSchema.optional(),
});

export type TenantSettings = z.infer<typeof tenantSettingsSchema>;

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly planTier: string;
  readonly settings: TenantSettings;
  /** ISO 8601, as all times of the platform. */
  readonly createdAt: string;
  /** Set while the tenant may not call. */
  readonly suspendedAt: string | null;
}

interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly plan_tier: string;
  readonly settings: TenantSettings;
  readonly created_at: Date;
  readonly suspended_at: Date | null;
}

const columns = "id, name, plan_tier, settings, created_at, suspended_at";

/** The tenants themselves. Deletion and export: `tenant-rows.ts`. */
export class Tenants {
  constructor(private readonly tables: PlatformTables) {}

  /** @throws ConflictError if the name is taken; InvalidValueError */
  async create(given: {
    /** 1 to 100 characters: letters, digits, spaces and `._-`, unique. */
    readonly name: string;
    /** Default `default`. */
    readonly planTier?: string;
    readonly settings?: TenantSettings;
  }): Promise<Tenant> {
    const { tenants, schema, ids, clock } = this.tables;
    const name = checkName(given.name);
    const planTier = checkText("plan_tier", given.planTier ?? "default", 100);
    const settings = settingsText(given.settings ?? {});
    const id = ids();
    return withTenant(tenants, id, async (client) => {
      const { rows } = await client.query<TenantRow>(
        `insert into ${schema}.tenant (id, name, plan_tier, settings, created_at)
        values ($1::uuid, $2, $3, $4::jsonb, $5) returning ${columns}`,
        [id, name, planTier, settings, clock.now()],
      );
      return toTenant(rows[0]!);
    }).catch((error: unknown) => {
      if (sqlStateOf(error) !== "23505") throw error;
      throw new ConflictError("tenant", `There is a tenant ${JSON.stringify(name)} already.`);
    });
  }

  /** @throws NotFoundError */
  async get(tenantId: string): Promise<Tenant> {
    const { tenants, schema } = this.tables;
    const id = checkId("tenant", tenantId);
    const { rows } = await queryTenant<TenantRow>(tenants, id, {
      text: `select ${columns} from ${schema}.tenant where id = $1::uuid`,
      values: [id],
    });
    return toTenant(existing(rows[0], tenantId));
  }

  /** The tenant of a name or an id. For operators: it reads all tenants. @throws NotFoundError */
  async find(nameOrId: string): Promise<Tenant> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryAllTenants<TenantRow>(tenants.pool, {
      text: `select ${columns} from ${schema}.tenant where name = $1 or id::text = $1
        order by (name = $1) desc limit 1`,
      values: [nameOrId.replaceAll("\0", "")],
    });
    return toTenant(existing(rows[0], nameOrId));
  }

  /** All tenants, newest first. For operators. */
  async list(page: PageRequest = {}): Promise<Page<Tenant>> {
    const { tenants, schema } = this.tables;
    const { limit, after } = checkPage(page);
    const { rows } = await queryAllTenants<TenantRow>(tenants.pool, {
      text: `select ${columns} from ${schema}.tenant where $1::uuid is null or id < $1::uuid
        order by id desc limit $2`,
      values: [after, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toTenant });
  }

  /** Replaces the settings. @throws NotFoundError, InvalidValueError */
  async updateSettings(tenantId: string, settings: TenantSettings): Promise<Tenant> {
    return this.#update(tenantId, "settings = $2::jsonb", [settingsText(settings)]);
  }

  /** Refuses the tenant's keys from the next request on; its queued runs wait. @throws NotFoundError */
  async suspend(tenantId: string): Promise<Tenant> {
    return this.#update(tenantId, "suspended_at = coalesce(suspended_at, $2)", [
      this.tables.clock.now(),
    ]);
  }

  /** Ends a suspension. @throws NotFoundError */
  async resume(tenantId: string): Promise<Tenant> {
    return this.#update(tenantId, "suspended_at = null", []);
  }

  async #update(tenantId: string, set: string, values: readonly unknown[]): Promise<Tenant> {
    const { tenants, schema } = this.tables;
    const id = checkId("tenant", tenantId);
    const { rows } = await queryTenant<TenantRow>(tenants, id, {
      text: `update ${schema}.tenant set ${set} where id = $1::uuid returning ${columns}`,
      values: [id, ...values],
    });
    return toTenant(existing(rows[0], tenantId));
  }
}

function checkName(name: string): string {
  if (!/^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,98}[\p{L}\p{N}])?$/u.test(name)) {
    throw new InvalidValueError(
      "name",
      "1 to 100 letters, digits, spaces and ._- that begins and ends with a letter or digit",
    );
  }
  return name;
}

/** @throws InvalidValueError */
function settingsText(settings: TenantSettings): string {
  const read = tenantSettingsSchema.safeParse(settings);
  if (!read.success) {
    const [issue] = read.error.issues;
    const path = ["settings", ...(issue?.path ?? [])].map(String).join(".");
    throw new InvalidValueError(path, `settings of a tenant (${issue?.message ?? "not valid"})`);
  }
  return jsonbText("settings", read.data, 65_536);
}

function existing(row: TenantRow | undefined, id: string): TenantRow {
  if (row === undefined) throw new NotFoundError("tenant", id);
  return row;
}

function toTenant(row: TenantRow): Tenant {
  return {
    id: row.id,
    name: row.name,
    planTier: row.plan_tier,
    settings: row.settings,
    createdAt: isoTime(row.created_at),
    suspendedAt: isoTimeOrNull(row.suspended_at),
  };
}
