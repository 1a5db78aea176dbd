import { retentionContract } from "../../contract/retention-contract.ts";
import { useDatabase } from "../../helpers/databases.ts";

retentionContract(useDatabase("postgres"));
