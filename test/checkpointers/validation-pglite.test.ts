import { checkpointerValidation } from "../contract/checkpointer-validation.ts";
import { useDatabase } from "../helpers/databases.ts";

checkpointerValidation(useDatabase("pglite"));
