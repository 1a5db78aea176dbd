import { threadTravelContract } from "../contract/thread-travel.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) threadTravelContract(kind);
