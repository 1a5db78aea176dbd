import { schedulesContract } from "../../contract/platform/schedules.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url))
  schedulesContract(usePlatform(useDatabase(kind)));
