import { usePlatform } from "../../contract/platform/subject.ts";
import { threadListsContract } from "../../contract/platform/thread-lists.ts";
import { useDatabase } from "../../helpers/databases.ts";

threadListsContract(usePlatform(useDatabase("pglite")));
