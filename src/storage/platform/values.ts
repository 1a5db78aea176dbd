import { StratagraphError } from "../../errors.ts";
import type { ValueCipher } from "./platform.ts";

/** What sealed values begin with, as strings of JSON. */
const sealedPrefix = "sealed:";

/** A value is sealed, and no key to open it is configured. */
export class NoCipherError extends StratagraphError {
  readonly code = "no_cipher";

  constructor() {
    super(
      "The database holds a sealed value, and no key to open it is configured. Give the key that it was sealed with.",
    );
  }
}

/** Stores values as they are. Sealed ones are refused rather than returned as text. */
export const plainValues: ValueCipher = {
  sealBytes: (plain) => plain,
  openBytes: (stored) => stored,
  sealJson: (value) => JSON.stringify(value ?? null),
  openJson(stored) {
    if (typeof stored === "string" && stored.startsWith(sealedPrefix)) throw new NoCipherError();
    return stored;
  },
};
