import { canonicalHash } from "../../state/canonical-json.ts";
import type { RunSpec } from "./run-spec.ts";

/**
 * SHA-256 (hex) of what makes a run what it is. Not of it: how many cycles it has, how a server is reached, and what its
 * place in a matrix is called.
 */
export function configHash(run: RunSpec): string {
  const { ollama_client_config: _client, cycle_count: _count, variant: _variant, ...rest } = run;
  return canonicalHash(rest);
}
