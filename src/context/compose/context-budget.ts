import type { ModelProfile } from "../../models/model-profile.ts";
import type { Utilization } from "../context-metadata.ts";
import type { ContextSettings } from "../context-settings.ts";
import { InvalidContextOptionError } from "../errors.ts";

const shares: Readonly<Record<Utilization, number>> = { low: 0.33, medium: 0.66, full: 1 };

/** A longer reply than this part of the window has to be asked for by `max_tokens`, or by a budget. */
const largestReserve = 0.25;

/**
 * Tokens that messages and tools may have: the given budget, as far as the window has room for it beside the reply, else
 * the utilization's share of the window less what is kept for the reply.
 *
 * @throws InvalidContextOptionError
 */
export function contextBudget(
  { window, maxOutput }: ModelProfile,
  { budget, utilization = "medium", previewChars, shortTerm }: ContextSettings,
): { readonly budget: number; readonly reserved: number } {
  checkPositive("budget", budget);
  checkPositive("previewChars", previewChars);
  checkPositive("shortTerm.maxTokens", shortTerm?.maxTokens);
  const share = Object.hasOwn(shares, utilization) ? shares[utilization] : undefined;
  if (share === undefined) {
    throw new InvalidContextOptionError("utilization", utilization, '"low", "medium" or "full"');
  }
  const reserved = Math.min(maxOutput, Math.floor(window * largestReserve));
  if (budget !== undefined)
    return { budget: Math.min(Math.floor(budget), window - reserved), reserved };
  return { budget: Math.max(1, Math.floor(window * share) - reserved), reserved };
}

function checkPositive(option: string, given: number | undefined): void {
  if (given === undefined || given >= 1) return;
  throw new InvalidContextOptionError(option, given, "a number of at least 1");
}
