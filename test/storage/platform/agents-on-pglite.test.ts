import { agentsContract } from "../../contract/platform/agents.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

agentsContract(usePlatform(useDatabase("pglite")));
