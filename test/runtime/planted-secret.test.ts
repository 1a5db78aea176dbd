import { plantedSecretContract } from "../contract/planted-secret.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) plantedSecretContract(useDatabase(kind));
