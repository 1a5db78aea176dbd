import { answeringContract } from "../contract/answering.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) answeringContract(kind);
