import { approvalsContract } from "../contract/approvals.ts";
import { drawDatabases } from "../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) approvalsContract(kind);
