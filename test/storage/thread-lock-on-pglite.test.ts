import { threadLockContract } from "../contract/thread-lock-contract.ts";
import { useDatabase } from "../helpers/databases.ts";

threadLockContract(useDatabase("pglite"));
