import { agentsContract } from "../../contract/platform/agents.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) agentsContract(usePlatform(useDatabase(kind)));
