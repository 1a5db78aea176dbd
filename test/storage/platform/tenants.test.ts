import { tenantsContract } from "../../contract/platform/tenants.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) tenantsContract(usePlatform(useDatabase(kind)));
