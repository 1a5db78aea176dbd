import { threadsContract } from "../contract/threads.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) threadsContract(kind);
