import { transactionsContract } from "../contract/transactions.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

transactionsContract({
  name: "pglite",
  database,
  open: async () => database.shared.pool,
  pipelines: true,
});
