import { timersContract } from "../../contract/platform/timers.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

timersContract(usePlatform(useDatabase("pglite")));
