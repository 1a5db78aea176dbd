import { restoresContract } from "../../contract/retention/restores.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) restoresContract(kind);
