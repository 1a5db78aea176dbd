import { timersContract } from "../../contract/platform/timers.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) timersContract(usePlatform(useDatabase(kind)));
