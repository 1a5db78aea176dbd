import { saverConcurrency } from "../contract/saver-concurrency.ts";
import { useDatabase } from "../helpers/databases.ts";

saverConcurrency(useDatabase("postgres"));
