import { transferContract } from "../../../contract/transfer-contract.ts";
import { useDatabase } from "../../../helpers/databases.ts";

transferContract(useDatabase("postgres"));
