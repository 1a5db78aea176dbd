import { usePlatform } from "../../contract/platform/subject.ts";
import { threadListsContract } from "../../contract/platform/thread-lists.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url))
  threadListsContract(usePlatform(useDatabase(kind)));
