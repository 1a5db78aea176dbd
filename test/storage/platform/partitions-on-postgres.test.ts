import { partitionsContract } from "../../contract/platform/partitions.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

partitionsContract(usePlatform(useDatabase("postgres")));
