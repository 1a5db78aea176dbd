import { approvalsContract } from "../contract/approvals.ts";

approvalsContract("postgres");
