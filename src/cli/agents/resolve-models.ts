import type { LlmConfig } from "../../definition/schema/agent.ts";
import { StratagraphError } from "../../errors.ts";
import type { ModelSource } from "../../models/agent-model.ts";
import { fallbackModels } from "../../models/create-models.ts";
import { ModelOptionError } from "../../models/errors.ts";

/** A model of an `llm_config`. */
export interface ResolvedModel {
  /** `provider:model`; empty for the default of the runtime if that cannot be resolved. */
  readonly ref: string;
  /** Why it cannot be called here; null if it can. */
  readonly error: StratagraphError | null;
}

/**
 * Resolves the models of an `llm_config` separately, since resolving it stops at the first problem: the chosen model, then
 * its fallbacks in order. An option that none of them takes is an error of the chosen model.
 */
export async function resolveModels(
  config: LlmConfig,
  models: ModelSource,
): Promise<readonly [ResolvedModel, ...ResolvedModel[]]> {
  const fallbacks = fallbackModels(config);
  const whole = await attempt(() => models.resolve(config));
  if (typeof whole === "string") {
    return [{ ref: whole, error: null }, ...fallbacks.map((ref) => ({ ref, error: null }))];
  }
  const { default_model: own = "" } = config;
  const [error, ...errors] = await Promise.all(
    [own, ...fallbacks].map((ref) => resolveAlone(ref, config, models)),
  );
  const isKnown = [error, ...errors].some((one) => one?.message === whole.message);
  return [
    { ref: own, error: isKnown ? (error ?? null) : whole },
    ...fallbacks.map((ref, at) => ({ ref, error: errors[at] ?? null })),
  ];
}

/** Resolves one model without the options that only others take. */
async function resolveAlone(
  ref: string,
  { default_model: _own, fallback_model: _fallbacks, ...options }: LlmConfig,
  models: ModelSource,
): Promise<StratagraphError | null> {
  const left: Partial<Record<string, unknown>> = { ...options };
  for (;;) {
    const error = await attempt(() => models.resolve({ ...left, default_model: ref }));
    if (typeof error === "string") return null;
    if (!(error instanceof ModelOptionError) || !Object.hasOwn(left, error.option)) return error;
    delete left[error.option];
  }
}

async function attempt(
  resolve: () => ReturnType<ModelSource["resolve"]>,
): Promise<string | StratagraphError> {
  try {
    return (await resolve()).ref;
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return thrown;
    throw thrown;
  }
}
