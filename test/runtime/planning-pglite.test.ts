import { planningContract } from "../contract/planning.ts";

planningContract("pglite");
