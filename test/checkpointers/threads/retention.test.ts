import { retentionContract } from "../../contract/retention-contract.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) retentionContract(useDatabase(kind));
