import { usePlatform } from "../../contract/platform/subject.ts";
import { threadSearchContract } from "../../contract/platform/thread-search.ts";
import { useDatabase } from "../../helpers/databases.ts";

threadSearchContract(usePlatform(useDatabase("pglite")));
