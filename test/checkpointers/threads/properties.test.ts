import { retentionProperties } from "../../contract/retention-properties.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) retentionProperties(useDatabase(kind));
