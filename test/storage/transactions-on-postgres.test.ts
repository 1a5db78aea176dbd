import pg from "pg";
import { openDatabase } from "../../src/storage/database.ts";
import { transactionsContract } from "../contract/transactions.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");
const plain = useDatabase("postgres");

transactionsContract({
  name: "postgres",
  database,
  open: async () => (await openDatabase({ ...database.options, maxConnections: 1 })).pool,
  pipelines: true,
});

transactionsContract({
  name: "a plain pool of pg",
  database: plain,
  open: async () =>
    new pg.Pool({
      connectionString: plain.options.url,
      max: 1,
    }),
  pipelines: false,
});
