import type { Queryable } from "../../pool.ts";
import { queryTenant, withTenant } from "../../tenant.ts";
import { checkText, isoTime } from "../checks.ts";
import { ConflictError, InvalidValueError, NotFoundError } from "../errors.ts";
import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { PlatformTables } from "../platform.ts";

/** A secret without its value. */
export interface StoredSecret {
  readonly name: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface SecretRow {
  readonly name: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Secrets of a tenant. */
const maxSecrets = 200;
/** Characters of a value. Shorter ones could not be told from other text, and would show in results. */
const lengths = { least: 8, most: 8_192 };

/** The secrets of tenants, which tools refer to as `{{secret:NAME}}`. */
export class TenantSecrets {
  /** @param isSealing whether `values` encrypts what it writes */
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
    readonly isSealing: boolean,
  ) {}

  /**
   * Stores a secret, or replaces its value. Names are those of references: letters, digits and `_`, at most 100. Values
   * have 8 to 8,192 characters.
   *
   * @throws InvalidValueError; ConflictError for more than 200 secrets
   */
  async set(
    tenantId: string,
    given: { readonly name: string; readonly value: string },
  ): Promise<StoredSecret & { readonly isNew: boolean }> {
    const { schema, clock } = this.tables;
    const name = checkName(given.name);
    const { least, most } = lengths;
    if (given.value.length < least)
      throw new InvalidValueError("value", `at least ${least} characters`);
    const value = this.values.sealJson(checkText("value", given.value, most));
    return this.#run(tenantId, async (client) => {
      const { rows } = await client.query<SecretRow & { readonly is_new: boolean }>(
        `insert into ${schema}.secret (tenant_id, name, value, created_at, updated_at)
        select $1::uuid, $2::text, $3::json, $4::timestamptz, $4::timestamptz
        where (select count(*) from ${schema}.secret where tenant_id = $1::uuid and name <> $2::text) < ${maxSecrets}
        on conflict (tenant_id, name) do update set value = excluded.value, updated_at = excluded.updated_at
        returning name, created_at, updated_at, xmax::text = '0' as is_new`,
        [tenantId, name, value, clock.now()],
      );
      if (rows[0] === undefined)
        throw new ConflictError("secret", `A tenant has at most ${maxSecrets} secrets.`);
      return { ...toSecret(rows[0]), isNew: rows[0].is_new };
    });
  }

  /** By name. All of them: there are at most 200. */
  async list(tenantId: string): Promise<readonly StoredSecret[]> {
    const { rows } = await queryTenant<SecretRow>(this.tables.tenants, tenantId, {
      text: `select name, created_at, updated_at from ${this.tables.schema}.secret where tenant_id = $1::uuid
        order by name limit ${maxSecrets}`,
      values: [tenantId],
    });
    return rows.map(toSecret);
  }

  /**
   * The value of a secret, for tools alone; undefined if there is none.
   *
   * @throws SealedValueError, MissingEncryptionKeyError
   */
  async read(tenantId: string, name: string): Promise<string | undefined> {
    const { rows } = await queryTenant<{ value: unknown }>(this.tables.tenants, tenantId, {
      text: `select value from ${this.tables.schema}.secret where tenant_id = $1::uuid and name = $2`,
      values: [tenantId, name],
    });
    return rows[0] && String(this.values.openJson(rows[0].value));
  }

  /** @throws NotFoundError */
  async remove(tenantId: string, name: string): Promise<void> {
    const { rowCount } = await queryTenant(this.tables.tenants, tenantId, {
      text: `delete from ${this.tables.schema}.secret where tenant_id = $1::uuid and name = $2`,
      values: [tenantId, isName(name) ? name : ""],
    });
    if (rowCount !== 1) throw new NotFoundError("secret", name);
  }

  async #run<T>(tenantId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    return withTenant(this.tables.tenants, tenantId, work);
  }
}

function isName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name);
}

/** @throws InvalidValueError */
function checkName(name: string): string {
  if (!isName(name))
    throw new InvalidValueError("name", "1 to 100 letters, digits and _, no digit first");
  return name;
}

function toSecret(row: SecretRow): StoredSecret {
  return {
    name: row.name,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
