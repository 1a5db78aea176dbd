import type { Clock, IdSource } from "../../clock.ts";
import { StratagraphError } from "../../errors.ts";
import type { TenantPool } from "../tenant.ts";

/** Where the tables of the platform are, and how their statements run. */
export interface PlatformTables {
  readonly tenants: TenantPool;
  /** Quoted name of the schema. */
  readonly schema: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** A caller that a key identified. */
export interface Principal {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
}

/** Seals values before they are stored, and opens them again. */
export interface ValueCipher {
  /** Returns sealed bytes, which begin with the id of the key. */
  sealBytes(plain: Uint8Array): Uint8Array;
  /** @throws SealedValueError for bytes that were changed, or whose key is not known; bytes that are not sealed come back as they are */
  openBytes(stored: Uint8Array): Uint8Array;
  /** Returns the JSON text of a column: that of `value`, or of a string that begins with `sealed:`. */
  sealJson(value: unknown): string;
  /** Returns the value of a column of JSON, as the driver parsed it. @throws SealedValueError */
  openJson(stored: unknown): unknown;
}

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
