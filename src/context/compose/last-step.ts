import { messagesTokens } from "../../models/message-tokens.ts";
import type { TokenCounter } from "../../models/tokens.ts";
import { level } from "./fit.ts";
import type { Shortening, ToldStep } from "./step-variant.ts";
import type { ToldEntries } from "./told-entries.ts";

/** Characters of texts and items of lists that the largest preview shows for a token of its part. */
const charactersOfToken = 6;
const itemsOfToken = 0.1;

/** Each preview shows two thirds of what the one before does, until it is as short as others are. */
const step = 2 / 3;
const shortest = { above: 300, maxChars: 300, maxItems: 3 } as const;

/** The previews to try for a part of so many tokens, the largest first. */
function previewsFor(tokens: number): readonly Shortening[] {
  const previews: Shortening[] = [];
  for (let share = 1; share * charactersOfToken * tokens > shortest.maxChars; share *= step) {
    const maxChars = Math.ceil(share * charactersOfToken * tokens);
    const maxItems = Math.max(shortest.maxItems, Math.ceil(share * itemsOfToken * tokens));
    previews.push({ above: maxChars, maxChars, maxItems });
  }
  return [...previews, shortest];
}

/** A part of the room. */
interface Part {
  readonly count: TokenCounter;
  readonly tokens: number;
}

/**
 * From now on each step that is larger than its part of the room is told by the largest preview that fits into it. Pauses
 * after each.
 */
export function* boundSteps(told: ToldEntries, part: Part): Generator<void, void> {
  for (let at = 0; at < told.length; at += 1) {
    boundStep(told, at, part);
    yield;
  }
}

/** {@link boundSteps} for one of them. */
export function boundStep(told: ToldEntries, at: number, part: Part): void {
  const entry = told.entry(at);
  if (entry.kind !== "step") return;
  const fits = ({ messages }: ToldStep): boolean =>
    messagesTokens(messages, part.count) <= part.tokens;
  if (!told.isTooLarge(at) && fits(told.step(at, level.whole))) return;
  for (const how of previewsFor(part.tokens)) {
    const one = told.tell(entry.step, how);
    if (fits(one)) return told.bound(at, one);
  }
  told.bound(at, told.step(at, level.preview));
}
