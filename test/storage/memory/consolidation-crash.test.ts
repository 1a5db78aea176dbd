import { consolidationCrashContract } from "../../contract/consolidation-crash.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) consolidationCrashContract(useDatabase(kind));
