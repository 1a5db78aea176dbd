import { planningContract } from "../contract/planning.ts";

planningContract("postgres");
