import { existsSync } from "node:fs";
import type { BaseMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "../../src/context/context-metadata.ts";
import type { ContextSettings } from "../../src/context/context-settings.ts";
import type { ModelProfile } from "../../src/models/model-profile.ts";
import type { StepRecord } from "../../src/state/step-record.ts";

export interface ContextOptions extends ContextSettings {
  readonly model: ModelProfile;
  readonly conversation: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
  readonly goal: Goal;
  readonly form?: "native" | "text" | "report";
}

export type BuildContext = (options: ContextOptions) => ReasoningContext;

const core = new URL("../../src/context/build-reasoning-context.ts", import.meta.url);

/** `buildReasoningContext`; null where it is not there yet, so that the baselines can be measured alone. */
export async function loadBuild(): Promise<BuildContext | null> {
  if (!existsSync(core)) return null;
  const module = (await import(core.href)) as { buildReasoningContext: BuildContext };
  return module.buildReasoningContext;
}
