import { callsContract } from "../../contract/platform/calls.ts";
import { useDatabase } from "../../helpers/databases.ts";

callsContract(useDatabase("postgres"));
