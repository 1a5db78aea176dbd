import { errorMessage, StratagraphError } from "../errors.ts";
import { cutMark, cutText, headOf } from "../state/cut-text.ts";

/**
 * Thrown by a handler whose tool ran as it should and did not reach its aim: file not found, nothing to divide by. The
 * call's outcome is `failure` with this message; anything else that a handler throws is an `error`.
 */
export class ToolFailure extends StratagraphError {
  readonly code = "tool_failure";
  override readonly kind = "run";
}

/** By code, since a handler may have got its class from another copy of this package. */
export function isToolFailure(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown as { code?: unknown }).code === "tool_failure";
}

/** Characters of a thrown message that a result keeps. */
const maxErrorCharacters = 2_000;

/** Of a longer one, so many are cleaned, since the cut may leave a beginning that cleaning would not know. */
const cleanedCharacters = 16 * maxErrorCharacters;

/**
 * The text of what a handler threw, whatever it was; never throws itself.
 * @param clean takes out of a text that is cut what nobody is to see
 */
export function thrownText(thrown: unknown, clean?: (text: string) => string): string {
  let text: string;
  try {
    text = errorMessage(thrown);
    if (typeof text !== "string") text = String(text);
  } catch {
    text = "";
  }
  if (text === "")
    text = `it threw ${typeof thrown === "object" ? "an error" : "a value"} without a message`;
  if (clean === undefined || text.length <= maxErrorCharacters) {
    return cutText(text, maxErrorCharacters);
  }
  const looked = headOf(text, cleanedCharacters);
  const left = text.length - looked.length;
  const cleaned = clean(looked);
  if (left === 0) return cutText(cleaned, maxErrorCharacters);
  const head = headOf(cleaned, maxErrorCharacters);
  return head + cutMark(left + cleaned.length - head.length);
}
