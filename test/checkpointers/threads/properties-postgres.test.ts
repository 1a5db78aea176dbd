import { retentionProperties } from "../../contract/retention-properties.ts";
import { useDatabase } from "../../helpers/databases.ts";

retentionProperties(useDatabase("postgres"));
