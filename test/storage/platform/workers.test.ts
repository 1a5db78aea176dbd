import { usePlatform } from "../../contract/platform/subject.ts";
import { workersContract } from "../../contract/platform/workers.ts";
import { useDatabase } from "../../helpers/databases.ts";

workersContract(usePlatform(useDatabase("pglite")));
workersContract(usePlatform(useDatabase("postgres")));
