import { beforeAll } from "vitest";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import type { Instance } from "../../../src/storage/platform/runs/instances.ts";
import type { Tenant } from "../../../src/storage/platform/tenants.ts";
import type { TestDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

/** The platform on the database of a test file; tenants are new, so that tests share its tables. */
export interface PlatformSubject {
  readonly database: TestDatabase;
  /** The same database as a user opens it who reads all rows. */
  readonly administrator: TestDatabase;
  readonly platform: Platform;
  readonly clock: ManualClock;
  /** Makes a tenant. */
  newTenant(): Promise<Tenant>;
  /** Makes an instance on a thread of a tenant, with a definition. */
  newInstance(tenantId: string, threadId?: string): Promise<Instance>;
}

let names = 0;

/** `administrator`: default, the user of `database`. */
export function usePlatform(
  database: TestDatabase,
  { administrator = database }: { readonly administrator?: TestDatabase } = {},
): PlatformSubject {
  const clock = new ManualClock(new Date().toISOString());
  let platform: Platform;
  beforeAll(async () => {
    if (database.available) platform = await openPlatform(database.shared, { clock });
  });
  return {
    database,
    administrator,
    clock,
    get platform() {
      return platform;
    },
    newTenant: () => platform.tenants.create({ name: `tenant ${(names += 1)}` }),
    async newInstance(tenantId, threadId = `thread-${(names += 1)}`) {
      const name = `agent ${(names += 1)}`;
      const { id: definitionId } = await platform.agents.create(tenantId, { name, definition: {} });
      return platform.instances.create(tenantId, { threadId, agent: name, definitionId });
    },
  };
}
