import { damageContract } from "../contract/damage.ts";
import { useDatabase } from "../helpers/databases.ts";

damageContract(useDatabase("pglite"));
