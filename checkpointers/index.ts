export { openCheckpointer } from "./open.ts";
export { pinCheckpointer } from "./pin.ts";
export { PostgresCheckpointer, type PostgresCheckpointerOptions } from "./postgres.ts";
