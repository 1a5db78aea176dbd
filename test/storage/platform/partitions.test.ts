import { partitionsContract } from "../../contract/platform/partitions.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url))
  partitionsContract(usePlatform(useDatabase(kind)));
