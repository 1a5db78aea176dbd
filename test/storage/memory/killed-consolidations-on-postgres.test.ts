import { consolidationKillContract } from "../../contract/consolidation-kills.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("postgres");

consolidationKillContract({
  kind: "postgres",
  available: database.available,
  options: () => database.options,
});
