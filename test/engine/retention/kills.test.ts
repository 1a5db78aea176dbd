import { killsContract } from "../../contract/retention/kills.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) killsContract(kind);
