import { threadContextContract } from "../../contract/thread-context.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) threadContextContract(kind);
