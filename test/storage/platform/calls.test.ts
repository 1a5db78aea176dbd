import { callsContract } from "../../contract/platform/calls.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) callsContract(useDatabase(kind));
