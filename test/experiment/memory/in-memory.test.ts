import { createInMemoryExperimentMemory } from "../../../src/experiment/memory/in-memory.ts";
import { experimentMemoryContract } from "../../contract/experiment-memory-contract.ts";

experimentMemoryContract("in memory", { create: createInMemoryExperimentMemory });
