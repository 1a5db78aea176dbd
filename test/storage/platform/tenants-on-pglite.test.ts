import { tenantsContract } from "../../contract/platform/tenants.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

tenantsContract(usePlatform(useDatabase("pglite")));
