import { checkpointerValidation } from "../contract/checkpointer-validation.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) checkpointerValidation(useDatabase(kind));
