import { saverStatements } from "../contract/saver-statements.ts";
import { useDatabase } from "../helpers/databases.ts";

saverStatements(useDatabase("postgres"));
