import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { timeTravel } from "../contract/time-travel.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

timeTravel({
  name: database.kind,
  available: database.available,
  // The other mode and all suites run on Postgres: saver and statements are the same.
  modes: [{ durability: "async", restarts: false }],
  drawnSuites: 3,
  newSaver: () => new PostgresCheckpointer(database.shared.pool),
});
