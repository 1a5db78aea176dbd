import { archivedTenantsContract } from "../../contract/retention/tenants.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) archivedTenantsContract(kind);
