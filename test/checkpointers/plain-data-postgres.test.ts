import { plainDataContract } from "../contract/plain-data.ts";
import { useDatabase } from "../helpers/databases.ts";

plainDataContract(useDatabase("postgres"));
