import { checkpointerContract } from "../contract/checkpointer-contract.ts";
import { useDatabase } from "../helpers/databases.ts";

checkpointerContract(useDatabase("postgres"));
