import { messageTokens } from "../../models/message-tokens.ts";
import type { TokenCounter } from "../../models/tokens.ts";
import { level } from "./fit.ts";
import type { ToldStep } from "./step-variant.ts";
import type { ToldEntries } from "./told-entries.ts";

/** Each preview shows four times what the next one does. */
const previews = [5, 4, 3, 2, 1, 0].map((power) => ({
  above: 300 * 4 ** power,
  maxChars: 300 * 4 ** power,
  maxItems: 3 * 4 ** power,
}));

/**
 * A step that is larger than its part of the room must not push out all that was before it: it is told by the largest
 * preview that fits into that part.
 */
export function boundLast(
  told: ToldEntries,
  part: { readonly count: TokenCounter; readonly tokens: number },
): void {
  for (let at = 0; at < told.length; at += 1) {
    const entry = told.entry(at);
    if (entry.kind !== "step") continue;
    const isLarge = told.isTooLarge(at);
    if (!isLarge && tokensOf(told.step(at, level.whole), part.count) <= part.tokens) continue;
    const isSmall = (one: ToldStep): boolean => tokensOf(one, part.count) <= part.tokens;
    let bounded = told.step(at, level.preview);
    for (const how of previews) {
      const one = told.tell(entry.step, how);
      if (!isSmall(one)) continue;
      bounded = one;
      break;
    }
    told.bound(at, bounded);
  }
}

function tokensOf({ messages }: ToldStep, count: TokenCounter): number {
  return messages.reduce((sum, one) => sum + messageTokens(one, count), 0);
}
