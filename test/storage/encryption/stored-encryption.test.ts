import { storedEncryption } from "../../contract/stored-encryption.ts";
import { drawDatabases } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) storedEncryption(kind);
