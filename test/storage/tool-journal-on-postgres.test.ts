import { toolJournalContract } from "../contract/tool-journal-contract.ts";
import { useDatabase } from "../helpers/databases.ts";

toolJournalContract(useDatabase("postgres", { synchronousCommit: true }));
