import { StratagraphError } from "../../errors.ts";

/** A key of AES-256-GCM. Values name the key that sealed them by its id. */
export interface EncryptionKey {
  /** 1 to 32 of the characters `A-Z a-z 0-9 . _ -`. It is stored readable with every value. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** The text of the encryption keys cannot be read. The message names positions and ids, and holds no key. */
export class InvalidEncryptionKeyError extends StratagraphError {
  readonly code = "invalid_encryption_key";

  constructor(
    /** Place in the list, from 1. */
    readonly position: number,
    expected: string,
    got: string,
  ) {
    super(
      `Encryption key ${position}: expected ${expected}, got ${got}. ` +
        `Give ID:KEY[,ID:KEY], each key as the base64 of 32 random bytes (openssl rand -base64 32).`,
    );
  }
}

const KEY_BYTES = 32;
const ID = /^[A-Za-z0-9._-]{1,32}$/;
/** Base64 or base64url of 32 bytes. Node's decoder skips what it does not know, so the text is checked first. */
const BASE64 = /^(?:[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/;

/** Whether a key may have the id. */
export function isKeyId(id: string): boolean {
  return ID.test(id);
}

/**
 * Reads keys from `id:base64key[,id2:base64key2]`, the form of `STRATAGRAPH_ENCRYPTION_KEYS`. An empty text has none.
 *
 * @throws InvalidEncryptionKeyError
 */
export function parseEncryptionKeys(text: string): readonly EncryptionKey[] {
  if (text.trim() === "") return [];
  const seen = new Set<string>();
  return text.split(",").map((item, at): EncryptionKey => {
    const position = at + 1;
    const colon = item.indexOf(":");
    if (colon < 0)
      throw new InvalidEncryptionKeyError(position, "ID:KEY", "a text without a colon");
    const id = item.slice(0, colon).trim();
    const encoded = item.slice(colon + 1).trim();
    // A key in the place of an id must not be shown.
    if (!isKeyId(id)) {
      const expected = "an id of 1 to 32 letters, digits, dots, hyphens or underscores";
      throw new InvalidEncryptionKeyError(position, expected, `${id.length} characters`);
    }
    if (seen.has(id))
      throw new InvalidEncryptionKeyError(position, "an id of its own", `"${id}" again`);
    seen.add(id);
    const key = Buffer.from(encoded, "base64");
    if (!BASE64.test(encoded) || key.byteLength !== KEY_BYTES) {
      const expected = `the base64 of ${KEY_BYTES} bytes as key "${id}"`;
      throw new InvalidEncryptionKeyError(position, expected, `${encoded.length} characters`);
    }
    return { id, key };
  });
}
