import { turnRowsContract } from "../../contract/platform/turn-rows.ts";
import { useDatabase } from "../../helpers/databases.ts";

turnRowsContract(useDatabase("postgres"));
