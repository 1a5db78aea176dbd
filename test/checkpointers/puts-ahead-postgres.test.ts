import { putsAheadContract } from "../contract/puts-ahead.ts";
import { useDatabase } from "../helpers/databases.ts";

putsAheadContract(useDatabase("postgres"));
