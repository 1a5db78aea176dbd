import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { sqlStateOf } from "../errors.ts";
import { queryAllTenants, queryTenant, withAllTenants, withTenant } from "../tenant.ts";
import {
  checkId,
  checkPage,
  checkText,
  isoTime,
  isoTimeOrNull,
  type Page,
  type PageRequest,
  toPage,
} from "./checks.ts";
import { InvalidValueError, NotFoundError } from "./errors.ts";
import { type PlatformTables, preparedName, type Principal } from "./platform.ts";

/** What a key may allow. `*` is all of them but {@link serverScopes}. */
export const scopes = [
  "agents:read",
  "agents:write",
  "runs:read",
  "runs:write",
  "tools:read",
  "tools:write",
  "tools:execute",
  "memory:read",
  "memory:write",
  "checkpoints:read",
  "checkpoints:unredacted",
  "requests:answer",
  "usage:read",
  "webhooks:write",
  "secrets:write",
  "admin",
  "experiments:read",
  "operator",
  "*",
] as const;

export type Scope = (typeof scopes)[number];

/** Scopes that show more than what is the tenant's: the queue of all tenants, and the experiments in the server's folder. */
export const serverScopes: readonly Scope[] = ["operator", "experiments:read"];

/** Whether a caller's key allows something. */
export function hasScope({ scopes: held }: Pick<Principal, "scopes">, scope: Scope): boolean {
  return held.includes(scope) || (held.includes("*") && !serverScopes.includes(scope));
}

/** A key without its secret, which is not stored. */
export interface ApiKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** Exact to a minute. */
  readonly lastUsedAt: string | null;
}

/** Why a key is refused. For logs: callers get the same answer for each. */
export type KeyRefusal = "malformed" | "unknown" | "expired" | "revoked" | "suspended";

export type KeyCheck =
  | { readonly principal: Principal; readonly refusal: null }
  /** `keyId`: the key that was named, whether it exists or not; null where none was. */
  | { readonly principal: null; readonly refusal: KeyRefusal; readonly keyId: string | null };

interface KeyRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly last_used_at: Date | null;
}

interface StoredKey {
  readonly tenant_id: string;
  readonly key_hash: Uint8Array;
  readonly scopes: readonly string[];
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly last_used_at: Date | null;
  readonly suspended_at: Date | null;
}

const columns = [
  "id",
  "tenant_id",
  "name",
  "scopes",
  "created_at",
  "expires_at",
  "revoked_at",
  "last_used_at",
].join(", ");

/** Milliseconds in which the use of a key is written once. */
const useInterval = 60_000;

/** The keys of tenants: `sg_<id>_<secret>`, 22 and 43 letters and digits. */
export class ApiKeys {
  constructor(private readonly tables: PlatformTables) {}

  /**
   * Makes a key. `secret` is the whole key, which cannot be read again.
   *
   * @throws NotFoundError for an unknown tenant; InvalidValueError
   */
  async create(given: {
    readonly tenantId: string;
    readonly name: string;
    /** At least one of {@link scopes}. */
    readonly scopes: readonly string[];
    /** ISO 8601, in the future. Default: it does not expire. */
    readonly expiresAt?: string | null;
  }): Promise<{ readonly key: ApiKey; readonly secret: string }> {
    const { tenants, schema, ids, clock } = this.tables;
    const tenantId = checkId("tenant", given.tenantId);
    const name = checkText("name", given.name, 100);
    const held = checkScopes(given.scopes);
    const now = clock.now();
    const expiresAt = checkExpiry(given.expiresAt ?? null, now);
    const id = ids();
    const secret = `sg_${toBase62(id.replaceAll("-", ""), 22)}_${toBase62(randomBytes(32).toString("hex"), 43)}`;
    return withTenant(tenants, tenantId, async (client) => {
      const { rows } = await client.query<KeyRow>(
        `insert into ${schema}.api_key (id, tenant_id, name, key_hash, scopes, created_at, expires_at)
        values ($1::uuid, $2::uuid, $3, $4, $5::text[], $6, $7) returning ${columns}`,
        [id, tenantId, name, hashOf(secret), held, now, expiresAt],
      );
      return { key: toKey(rows[0]!), secret };
    }).catch((error: unknown) => {
      throw sqlStateOf(error) === "23503" ? new NotFoundError("tenant", tenantId) : error;
    });
  }

  /**
   * Identifies the caller of a request. Reads the key each time, so that a key is refused from the moment at which it is
   * revoked, whichever process did it.
   */
  async verify(secret: string): Promise<KeyCheck> {
    const [, idPart] = /^sg_([0-9A-Za-z]{22})_[0-9A-Za-z]{43}$/.exec(secret) ?? [];
    const keyId = idPart === undefined ? null : idOfPart(idPart);
    if (keyId === null) return { principal: null, refusal: "malformed", keyId };
    const { tenants, schema, clock } = this.tables;
    const now = clock.now();
    return withAllTenants(tenants.pool, async (client) => {
      const { rows } = await client.query<StoredKey>({
        name: preparedName(this.tables, "verify"),
        text: `select k.tenant_id, k.key_hash, k.scopes, k.expires_at, k.revoked_at, k.last_used_at, t.suspended_at
        from ${schema}.api_key k join ${schema}.tenant t on t.id = k.tenant_id where k.id = $1::uuid`,
        values: [keyId],
      });
      const refusal = refuse(rows[0], hashOf(secret), now);
      if (refusal !== null || rows[0] === undefined)
        return { principal: null, refusal: refusal ?? "unknown", keyId };
      const { tenant_id: tenantId, scopes: held, last_used_at: used } = rows[0];
      if (used === null || used.getTime() <= now.getTime() - useInterval) {
        await client.query(`update ${schema}.api_key set last_used_at = $2 where id = $1::uuid`, [
          keyId,
          now,
        ]);
      }
      return { principal: { tenantId, keyId, scopes: held }, refusal: null };
    });
  }

  /** The keys of a tenant, newest first; revoked and expired ones too. */
  async list(tenantId: string, page: PageRequest = {}): Promise<Page<ApiKey>> {
    const { tenants, schema } = this.tables;
    const { limit, after } = checkPage(page);
    const { rows } = await queryTenant<KeyRow>(tenants, tenantId, {
      text: `select ${columns} from ${schema}.api_key
        where tenant_id = $1::uuid and ($2::uuid is null or id < $2::uuid) order by id desc limit $3`,
      values: [tenantId, after, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toKey });
  }

  /** Revokes a key of a tenant; twice is once. @throws NotFoundError */
  async revoke(tenantId: string, keyId: string): Promise<ApiKey> {
    const { tenants, schema, clock } = this.tables;
    const id = checkId("key", keyId);
    const { rows } = await queryTenant<KeyRow>(tenants, tenantId, {
      text: `update ${schema}.api_key set revoked_at = coalesce(revoked_at, $3)
        where tenant_id = $1::uuid and id = $2::uuid returning ${columns}`,
      values: [tenantId, id, clock.now()],
    });
    if (rows[0] === undefined) throw new NotFoundError("key", keyId);
    return toKey(rows[0]);
  }

  /** The key of an id, of any tenant. For operators. @throws NotFoundError */
  async find(keyId: string): Promise<ApiKey> {
    const { tenants, schema } = this.tables;
    const id = checkId("key", keyId);
    const { rows } = await queryAllTenants<KeyRow>(tenants.pool, {
      text: `select ${columns} from ${schema}.api_key where id = $1::uuid`,
      values: [id],
    });
    if (rows[0] === undefined) throw new NotFoundError("key", keyId);
    return toKey(rows[0]);
  }
}

/** Compared also where there is no key of the id, so that both take as long. */
const noHash = Buffer.alloc(32);

function refuse(stored: StoredKey | undefined, hash: Uint8Array, now: Date): KeyRefusal | null {
  if (!timingSafeEqual(stored?.key_hash ?? noHash, hash) || stored === undefined) return "unknown";
  if (stored.revoked_at !== null) return "revoked";
  if (stored.expires_at !== null && stored.expires_at <= now) return "expired";
  return stored.suspended_at === null ? null : "suspended";
}

function checkScopes(given: readonly string[]): readonly string[] {
  const known: readonly string[] = scopes;
  const unknown = given.find((scope) => !known.includes(scope));
  if (unknown !== undefined || given.length === 0) {
    const got = unknown === undefined ? "none" : JSON.stringify(unknown.slice(0, 50));
    throw new InvalidValueError("scopes", `at least one of ${scopes.join(", ")}, got ${got}`);
  }
  return [...new Set(given)];
}

function checkExpiry(expiresAt: string | null, now: Date): Date | null {
  if (expiresAt === null) return null;
  const time = new Date(expiresAt);
  if (!(time > now)) throw new InvalidValueError("expires_at", "a time in the future as ISO 8601");
  return time;
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function toBase62(hex: string, length: number): string {
  let text = "";
  for (let rest = BigInt(`0x${hex}`); rest > 0n; rest /= 62n)
    text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}

/** The id of a key, or null for what is more than 128 bits. */
function idOfPart(part: string): string | null {
  let value = 0n;
  for (const digit of part) value = value * 62n + BigInt(digits.indexOf(digit));
  const hex = value.toString(16).padStart(32, "0");
  if (hex.length > 32) return null;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    scopes: row.scopes,
    createdAt: isoTime(row.created_at),
    expiresAt: isoTimeOrNull(row.expires_at),
    revokedAt: isoTimeOrNull(row.revoked_at),
    lastUsedAt: isoTimeOrNull(row.last_used_at),
  };
}
