import { archivedTenantsContract } from "../../contract/retention/tenants.ts";

archivedTenantsContract("postgres");
