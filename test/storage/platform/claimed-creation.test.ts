import { claimedCreationContract } from "../../contract/platform/claimed-creation.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

claimedCreationContract(usePlatform(useDatabase("pglite")));
claimedCreationContract(usePlatform(useDatabase("postgres")));
