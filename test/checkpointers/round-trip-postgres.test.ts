import { saverRoundTrip } from "../contract/saver-round-trip.ts";
import { useDatabase } from "../helpers/databases.ts";

saverRoundTrip(useDatabase("postgres"));
