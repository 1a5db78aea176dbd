import { cancellingContract } from "../contract/cancelling.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) cancellingContract(kind);
