import { saverStatements } from "../contract/saver-statements.ts";
import { threadList } from "../contract/thread-list.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) {
  const database = useDatabase(kind);
  saverStatements(database);
  threadList(database);
}
