import { threadRefusalsContract } from "../contract/thread-refusals.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) threadRefusalsContract(kind);
