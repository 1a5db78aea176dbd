import { queryTenant, withTenant } from "../tenant.ts";
import { canonicalHash } from "../../values/json.ts";
import {
  checkPage,
  checkText,
  isoTime,
  type Page,
  type PageRequest,
  timeOfId,
  toPage,
} from "./checks.ts";
import type { Partitions } from "./partitions.ts";
import type { PlatformTables } from "./platform.ts";

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  /** `key:<id>`, `operator` or `system`. */
  readonly actor: string;
  /** As in `agent.create`. */
  readonly action: string;
  readonly subject: string;
  /** SHA-256 in hexadecimal digits of what was there before; null where there was nothing. */
  readonly beforeHash: string | null;
  readonly afterHash: string | null;
}

interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before_hash: Uint8Array | null;
  readonly after_hash: Uint8Array | null;
}

/** Who changed what. Values are stored as hashes alone, so that no secret is. */
export class AuditLog {
  constructor(
    private readonly tables: PlatformTables,
    private readonly partitions: Partitions,
  ) {}

  /** @throws InvalidValueError */
  async append(
    tenantId: string,
    given: {
      readonly actor: string;
      readonly action: string;
      readonly subject: string;
      /** Plain JSON; left out where there was nothing. */
      readonly before?: unknown;
      readonly after?: unknown;
    },
  ): Promise<void> {
    const { tenants, schema, ids } = this.tables;
    const id = ids();
    const values = [
      timeOfId(id),
      id,
      tenantId,
      checkText("actor", given.actor, 200),
      checkText("action", given.action, 100),
      checkText("subject", given.subject, 500),
      hashOf(given.before),
      hashOf(given.after),
    ];
    await this.partitions.withDays([id], () =>
      withTenant(tenants, tenantId, (client) =>
        client.query(
          `insert into ${schema}.audit_log (at, id, tenant_id, actor, action, subject, before_hash, after_hash)
          values ($1, $2::uuid, $3::uuid, $4, $5, $6, $7, $8)`,
          values,
        ),
      ),
    );
  }

  /** Newest first. */
  async list(tenantId: string, page: PageRequest = {}): Promise<Page<AuditEntry>> {
    const { tenants, schema } = this.tables;
    const { limit, after } = checkPage(page);
    const { rows } = await queryTenant<AuditRow>(tenants, tenantId, {
      text: `select id, at, actor, action, subject, before_hash, after_hash from ${schema}.audit_log
        where tenant_id = $1::uuid and ($2::uuid is null or (at, id) < ($3::timestamptz, $2::uuid))
        order by at desc, id desc limit $4`,
      values: [tenantId, after, after === null ? null : timeOfId(after), limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toEntry });
  }
}

function hashOf(value: unknown): Buffer | null {
  return value === undefined ? null : Buffer.from(canonicalHash(value), "hex");
}

function toEntry(row: AuditRow): AuditEntry {
  const hex = (hash: Uint8Array | null) =>
    hash === null ? null : Buffer.from(hash).toString("hex");
  return {
    id: row.id,
    at: isoTime(row.at),
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    beforeHash: hex(row.before_hash),
    afterHash: hex(row.after_hash),
  };
}
