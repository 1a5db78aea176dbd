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

/** A caller that a key identified. */
export interface Principal {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
}
