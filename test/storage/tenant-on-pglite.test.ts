import { tenantIsolationContract } from "../contract/tenant-isolation.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

tenantIsolationContract({
  name: "on pglite",
  available: true,
  database: async () => database.shared,
  hasRole: true,
});
