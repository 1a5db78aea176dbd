import { clientToolsContract } from "../contract/client-tools.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) clientToolsContract(kind);
