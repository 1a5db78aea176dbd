import { replayAsNewThreadContract } from "../contract/replay-as-new-thread.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) replayAsNewThreadContract(kind);
