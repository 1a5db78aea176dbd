import { queryAllTenants, queryTenant, withTenant } from "../tenant.ts";
import { checkText, sealedText } from "./checks.ts";
import { InvalidValueError } from "./errors.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";
import type { PlatformTables } from "./platform.ts";

/** What is known of a key when a request with it begins. */
export type BegunRequest =
  /** The caller executes the request, then finishes or abandons it. */
  | { readonly state: "new" }
  /** The first request with the key has not been answered yet. */
  | { readonly state: "under_way" }
  | { readonly state: "answered"; readonly status: number; readonly answer: unknown }
  /** The key was used for another request. */
  | { readonly state: "other_request" };

/** A request that was begun under a key. */
export interface KeyAttempt {
  /** 1 to 255 characters. */
  readonly key: string;
  /** A UUID of the request alone. Its end leaves alone what a later request has begun under the key. */
  readonly attempt: string;
}

const hourMs = 3_600_000;
const maxAnswerBytes = 16_777_216;

/** Answers to requests that have an `Idempotency-Key`. */
export class Idempotency {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /**
   * Begins a request. One that was begun more than an hour ago and not answered is taken for lost with its process, and begins
   * anew.
   *
   * @throws InvalidValueError
   */
  async begin(
    tenantId: string,
    given: KeyAttempt & {
      /** SHA-256 of method, path and body. */
      readonly requestHash: Uint8Array;
    },
  ): Promise<BegunRequest> {
    const { tenants, schema, clock } = this.tables;
    const key = checkText("key", given.key, 255);
    const hash = Buffer.from(given.requestHash);
    if (hash.length !== 32) throw new InvalidValueError("requestHash", "32 bytes");
    const now = clock.now();
    const lost = new Date(now.getTime() - hourMs);
    return withTenant(tenants, tenantId, async (client) => {
      const begun = await client.query(
        `insert into ${schema}.idempotency_key as k (tenant_id, key, request_hash, created_at, attempt) values ($1::uuid, $2, $3, $4, $6::uuid)
        on conflict (tenant_id, key) do update set created_at = excluded.created_at, attempt = excluded.attempt
        where k.status is null and k.created_at <= $5 and k.request_hash = excluded.request_hash`,
        [tenantId, key, hash, now, lost, given.attempt],
      );
      if (begun.rowCount === 1) return { state: "new" };
      const { rows } = await client.query<{
        same: boolean;
        status: number | null;
        answer: unknown;
      }>(
        `select request_hash = $3 as same, status, answer from ${schema}.idempotency_key
        where tenant_id = $1::uuid and key = $2`,
        [tenantId, key, hash],
      );
      const [row] = rows;
      if (row === undefined) return { state: "under_way" }; // Abandoned since the statement before.
      if (!row.same) return { state: "other_request" };
      if (row.status === null) return { state: "under_way" };
      return { state: "answered", status: row.status, answer: this.values.openJson(row.answer) };
    });
  }

  /** Stores the answer of a request that was begun; twice is once. @throws InvalidValueError */
  async finish(
    tenantId: string,
    { key, attempt }: KeyAttempt,
    { status, answer }: { readonly status: number; readonly answer: unknown },
  ): Promise<void> {
    const { tenants, schema } = this.tables;
    const text = sealedText(this.values, "answer", answer, maxAnswerBytes);
    await queryTenant(tenants, tenantId, {
      text: `update ${schema}.idempotency_key set status = $3, answer = $4::json
        where tenant_id = $1::uuid and key = $2 and status is null and attempt = $5::uuid`,
      values: [tenantId, key, status, text, attempt],
    });
  }

  /** Forgets a request that was begun and did nothing, so that the key can be used again. */
  async abandon(tenantId: string, { key, attempt }: KeyAttempt): Promise<void> {
    const { tenants, schema } = this.tables;
    await queryTenant(tenants, tenantId, {
      text: `delete from ${schema}.idempotency_key
        where tenant_id = $1::uuid and key = $2 and status is null and attempt = $3::uuid`,
      values: [tenantId, key, attempt],
    });
  }

  /** Removes the keys of all tenants that are older than 24 hours; returns how many. */
  async sweep(): Promise<number> {
    const { tenants, schema, clock } = this.tables;
    const before = new Date(clock.now().getTime() - 24 * hourMs);
    const { rowCount } = await queryAllTenants(tenants.pool, {
      text: `delete from ${schema}.idempotency_key where created_at < $1`,
      values: [before],
    });
    return rowCount ?? 0;
  }
}
