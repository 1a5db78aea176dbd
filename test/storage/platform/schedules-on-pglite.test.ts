import { schedulesContract } from "../../contract/platform/schedules.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

schedulesContract(usePlatform(useDatabase("pglite")));
