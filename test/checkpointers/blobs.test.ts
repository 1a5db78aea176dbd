import { databaseBlobs } from "../contract/database-blobs.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) databaseBlobs(kind);
