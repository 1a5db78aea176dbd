import { threadRescueContract } from "../contract/thread-rescue.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) threadRescueContract(kind);
