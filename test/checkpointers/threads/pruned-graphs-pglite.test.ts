import { prunedGraphs } from "../../contract/pruned-graphs.ts";
import { useDatabase } from "../../helpers/databases.ts";

prunedGraphs(useDatabase("pglite"));
