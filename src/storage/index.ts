export { openDatabase, type Database, type DatabaseOptions } from "./database.ts";
export { DatabaseBusyError, DatabaseClosedError, DatabaseConnectionError } from "./errors.ts";
export { FolderLockedError } from "./folder-lock.ts";
export type { DatabaseClient, DatabasePool, Queryable, QueryConfig, QueryResult } from "./pool.ts";
