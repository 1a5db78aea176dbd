import { createHash } from "node:crypto";
import { headOf } from "../../state/cut-text.ts";

const maxLength = 64;
const hashLength = 8;

/**
 * The name under which agents know a server's tool. Dots and slashes become `_`; a name over 64 characters ends with a
 * hash of the whole instead. Undefined for names that hold anything else or climb by `..`: a model would be shown a name
 * that means something other than it says.
 */
export function toolName(own: string, prefix = ""): string | undefined {
  if (!/^[A-Za-z0-9_./-]+$/.test(own) || own.includes("..")) return undefined;
  const whole = prefix + own.replace(/[./]/g, "_");
  if (whole.length <= maxLength) return whole;
  const hash = createHash("sha256")
    .update(prefix + own)
    .digest("hex")
    .slice(0, hashLength);
  return `${whole.slice(0, maxLength - hashLength - 1)}_${hash}`;
}

/** A name of someone else's in a message: cut, in quotes, and without characters that act on a terminal. */
export function quoted(name: string): string {
  return JSON.stringify(headOf(name, 100)).replace(
    /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
