import { waitingContract } from "../contract/waiting.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) waitingContract(kind);
