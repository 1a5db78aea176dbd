import { damageContract } from "../contract/damage.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) damageContract(useDatabase(kind));
