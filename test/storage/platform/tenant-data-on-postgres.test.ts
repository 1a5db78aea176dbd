import { tenantDataContract } from "../../contract/platform/tenant-data.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { useDatabase } from "../../helpers/databases.ts";

tenantDataContract(usePlatform(useDatabase("postgres")));
