import { migrateContract } from "../contract/migrate-contract.ts";
import { useDatabase } from "../helpers/databases.ts";

migrateContract(useDatabase("pglite"));
