import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { timeTravel } from "../contract/time-travel.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

timeTravel({
  name: database.kind,
  available: database.available,
  // The other mode runs on Postgres: saver and statements are the same.
  modes: [{ durability: "async", restarts: false }],
  newSaver: () => new PostgresCheckpointer(database.shared.pool),
});
