import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { timeTravel } from "../contract/time-travel.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");

timeTravel({
  name: database.kind,
  available: database.available,
  newSaver: () => new PostgresCheckpointer(database.shared.pool),
});
