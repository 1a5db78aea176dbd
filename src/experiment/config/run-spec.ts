import type { AgentSpec } from "../../definition/schema/agent.ts";
import type { OllamaClientConfig } from "../../models/agent-model.ts";
import { canonicalHash } from "../../values/json.ts";

/** Parameters of model calls; an option that the provider does not support is refused by name. */
export interface ExperimentModelOptions {
  readonly seed?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  /** Output tokens; -1 for no limit. */
  readonly num_predict?: number;
  /** Tokens back that repetitions are looked for; 0 for none, -1 for the whole window. */
  readonly repeat_last_n?: number;
  readonly repeat_penalty?: number;
  /** Context window in tokens. */
  readonly num_ctx?: number;
}

/** Where in a matrix a run stands; null where the config does not vary it and says nothing of it. */
export interface RunVariant {
  readonly model_name: string;
  readonly seed: number | null;
  /** Name of the system prompt in the matrix. */
  readonly system_prompt: string | null;
}

/** One run of an experiment: its config with one point of the matrix put in, and every default. Plain JSON. */
export interface RunSpec {
  /** Letters, digits, `.`, `_` and `-`, at most 128; names the log and the thread. */
  readonly run_id: string;
  /** `provider:model`. */
  readonly model_name: string;
  readonly cycle_count: number;
  readonly model_options: ExperimentModelOptions;
  /** Null where the config has none, and for models that are not Ollama's. */
  readonly ollama_client_config: OllamaClientConfig | null;
  readonly system_prompt: string;
  /** Template of what the user says at the beginning of a cycle; may read `cycle_number` and `cycle_count`. */
  readonly cycle_prompt: string;
  /** What is asked at the end of a cycle. */
  readonly reflection_prompt: string;
  /** How many of the newest reflections the system prompt tells. */
  readonly reflections_shown: number;
  readonly tools: AgentSpec["tools"];
  readonly permissions: AgentSpec["permissions"];
  /** Model calls of a cycle, without the one that reflects. */
  readonly max_iterations: number;
  readonly variant: RunVariant;
}

/**
 * SHA-256 (hex) of what makes a run what it is. Not of it: how many cycles it has, how a server is reached, and what its
 * place in a matrix is called.
 */
export function configHash(run: RunSpec): string {
  const { ollama_client_config: _client, cycle_count: _count, variant: _variant, ...rest } = run;
  return canonicalHash(rest);
}

/** The tools that work on the memory. */
export const memoryToolNames: readonly string[] = Object.freeze([
  "memory_write",
  "memory_read",
  "memory_list",
  "memory_delete",
]);

/** The tool that sends messages to the operator. */
export const operatorToolName = "message_operator";

/**
 * The tools of experiments, in the order in which models read them. Agents have all of them
 * unless a config lists others.
 */
export const experimentToolNames: readonly string[] = Object.freeze([
  ...memoryToolNames,
  operatorToolName,
]);
