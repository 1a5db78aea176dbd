import { usePlatform } from "../../contract/platform/subject.ts";
import { threadEventsContract } from "../../contract/platform/thread-events.ts";
import { useDatabase } from "../../helpers/databases.ts";

threadEventsContract(usePlatform(useDatabase("pglite")));
