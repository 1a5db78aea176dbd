import { saverStatements } from "../contract/saver-statements.ts";
import { threadList } from "../contract/thread-list.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

saverStatements(database);
threadList(database);
