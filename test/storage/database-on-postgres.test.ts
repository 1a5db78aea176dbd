import { databaseContract } from "../contract/database-contract.ts";
import { useDatabase } from "../helpers/databases.ts";

databaseContract(useDatabase("postgres"));
