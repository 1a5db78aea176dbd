import { attachmentsContract } from "../contract/attachments.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) attachmentsContract(kind);
