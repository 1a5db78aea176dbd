import { consolidationCrashContract } from "../../contract/consolidation-crash.ts";
import { useDatabase } from "../../helpers/databases.ts";

consolidationCrashContract(useDatabase("pglite"));
