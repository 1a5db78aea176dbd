import type { ContextSettings } from "../../context/context-settings.ts";
import type { AgentSpec } from "../../definition/schema.ts";

/** How contexts are made, as a definition says. */
export function contextSettingsOf({ context_config, memory_config }: AgentSpec): ContextSettings {
  const { utilization, budget, whole_results, preview_chars } = context_config;
  const { strategy, max_tokens } = memory_config.short_term;
  return {
    utilization,
    ...(budget !== undefined && { budget }),
    whole: whole_results,
    previewChars: preview_chars,
    shortTerm: { strategy, maxTokens: max_tokens },
  };
}
