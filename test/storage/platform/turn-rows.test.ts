import { turnRowsContract } from "../../contract/platform/turn-rows.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) turnRowsContract(useDatabase(kind));
