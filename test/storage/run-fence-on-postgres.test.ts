import { runFenceContract } from "../contract/run-fence.ts";
import { useDatabase } from "../helpers/databases.ts";

runFenceContract(useDatabase("postgres"));
