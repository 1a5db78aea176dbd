import { roundsContract } from "../../contract/retention/rounds.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) roundsContract(kind);
