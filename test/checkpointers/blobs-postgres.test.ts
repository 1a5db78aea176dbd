import { databaseBlobs } from "../contract/database-blobs.ts";

databaseBlobs("postgres");
