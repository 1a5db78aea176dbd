import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { timeTravel } from "../contract/time-travel.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

timeTravel({
  name: database.kind,
  available: database.available,
  // One mode: the saver is the one of Postgres, and this database takes several times as long.
  modes: [{ durability: "async", restarts: false }],
  newSaver: () => new PostgresCheckpointer(database.shared.pool),
});
