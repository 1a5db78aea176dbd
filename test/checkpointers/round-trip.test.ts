import { saverRoundTrip } from "../contract/saver-round-trip.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) saverRoundTrip(useDatabase(kind));
