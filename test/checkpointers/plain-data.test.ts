import { plainDataContract } from "../contract/plain-data.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) plainDataContract(useDatabase(kind));
