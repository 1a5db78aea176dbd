import { putsAheadContract } from "../contract/puts-ahead.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) putsAheadContract(useDatabase(kind));
