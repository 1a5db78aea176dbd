import { type IsolationSubject, tenantIsolationContract } from "../contract/tenant-isolation.ts";
import { threadIsolationContract } from "../contract/thread-isolation.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

const subject: IsolationSubject = {
  name: "on pglite",
  available: true,
  database: async () => database.shared,
  hasRole: true,
};
tenantIsolationContract(subject);
threadIsolationContract(subject);
