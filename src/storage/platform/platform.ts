import { createHash } from "node:crypto";
import type { Clock, IdSource } from "../../clock.ts";
import type { TenantPool } from "../tenant.ts";

/** Where the tables of the platform are, and how their statements run. */
export interface PlatformTables {
  readonly tenants: TenantPool;
  /** Quoted name of the schema. */
  readonly schema: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** Returns the name under which sessions prepare a statement, one for each schema. @param name at most 18 characters */
export function preparedName({ schema }: Pick<PlatformTables, "schema">, name: string): string {
  return `stratagraph_${name}_${createHash("md5").update(schema).digest("hex")}`;
}

/** A caller that a key identified. */
export interface Principal {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
}
