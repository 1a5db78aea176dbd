import { newestCheckpointContract } from "../contract/newest-checkpoint.ts";
import { useDatabase } from "../helpers/databases.ts";

newestCheckpointContract(useDatabase("pglite"));
newestCheckpointContract(useDatabase("postgres"));
