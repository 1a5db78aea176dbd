import { saverStatements } from "../contract/saver-statements.ts";
import { threadList } from "../contract/thread-list.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");

saverStatements(database);
threadList(database);
