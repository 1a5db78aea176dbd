import { usePlatform } from "../../contract/platform/subject.ts";
import { threadEventsContract } from "../../contract/platform/thread-events.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url))
  threadEventsContract(usePlatform(useDatabase(kind)));
