import { planningContract } from "../contract/planning.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) planningContract(kind);
