import { runsContract } from "../../contract/platform/runs.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

runsContract(usePlatform(useDatabase("postgres")));
