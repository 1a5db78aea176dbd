import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { timeTravel } from "../contract/time-travel.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");

timeTravel({
  name: database.kind,
  available: database.available,
  // The other mode runs on PGlite: saver and statements are the same.
  modes: [{ durability: "sync", restarts: true }],
  newSaver: () => new PostgresCheckpointer(database.shared.pool),
});
