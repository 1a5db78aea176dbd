import { transferContract } from "../../../contract/transfer-contract.ts";
import { drawDatabases, useDatabase } from "../../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) transferContract(useDatabase(kind));
