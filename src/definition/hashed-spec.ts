import { contextConfigBeside, type ContextConfig } from "./context-schema.ts";
import type { AgentSpec } from "./schema.ts";

/** A spec as it is hashed. */
export type HashedSpec = Omit<AgentSpec, "context_config"> & {
  /** What it says that is not the default. */
  readonly context_config?: Partial<ContextConfig>;
};

/**
 * A spec without the defaults of keys that came later than the first hashes: what says nothing of them has the hash that
 * it had before there were any.
 */
export function hashedSpec(spec: AgentSpec): HashedSpec {
  const { context_config: config, ...rest } = spec;
  const own = contextConfigBeside(config);
  return own === null ? rest : { ...rest, context_config: own };
}
