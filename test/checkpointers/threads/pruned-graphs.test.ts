import { prunedGraphs } from "../../contract/pruned-graphs.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) prunedGraphs(useDatabase(kind));
