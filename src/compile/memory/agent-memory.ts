import type { Clock } from "../../clock.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import { NoMemoryError } from "../../memory/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import { agentNamespace, instanceIdOf } from "../../memory/namespace.ts";
import type { AgentMemory } from "../loop/loop-config.ts";
import type { AgentMemoryOptions } from "./recall.ts";
import { inTime, LastRead, TurnMemoryReader } from "./turn-memory-reader.ts";

/** Entries that a recovery reads again. */
const mostRecent = 10;

/**
 * Opens the memory of an agent.
 *
 * @throws NoMemoryError, and the errors of opening the memory
 */
export async function openAgentMemory(
  spec: Pick<AgentSpec, "name" | "memory_config">,
  services: {
    readonly clock: Clock;
    readonly memory?: ((embeddingModel: string | undefined) => Promise<Memory>) | undefined;
  },
): Promise<AgentMemory> {
  if (services.memory === undefined) throw new NoMemoryError(spec.name);
  const memory = await services.memory(spec.memory_config.long_term.embedding_model);
  return createAgentMemory({ spec, clock: services.clock, memory });
}

function createAgentMemory(options: AgentMemoryOptions): AgentMemory {
  const { spec, memory } = options;
  const read = new LastRead();
  return {
    memory,
    namespace: (user) => agentNamespace(spec.name, user),
    recent({ threadId, user }) {
      const filter = {
        namespace: agentNamespace(spec.name, user),
        exact: true,
        instanceId: instanceIdOf(spec.name, threadId),
      };
      const page = { order: "accessed", limit: mostRecent } as const;
      return inTime(options, [], () => memory.list(filter, page));
    },
    forNode: (node) => new TurnMemoryReader(options, node, read),
  };
}
