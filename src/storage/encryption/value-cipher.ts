import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";
import { StratagraphError } from "../../errors.ts";
import { type EncryptionKey, isKeyId } from "./encryption-keys.ts";

/**
 * Seals values before they are stored, and opens them again. The same `context` must be given to both: it names the row
 * that a value belongs to, and is authenticated, so that a value does not open in another row. Default: empty.
 */
export interface ValueCipher {
  /** Returns sealed bytes, which begin with the id of the key. */
  sealBytes(plain: Uint8Array, context?: string): Buffer;
  /**
   * Opens sealed bytes. Bytes that are not sealed come back as they are.
   * @throws SealedValueError for bytes that were changed or stand in another row; MissingEncryptionKeyError
   */
  openBytes(stored: Uint8Array, context?: string): Buffer;
  /** Returns the JSON text of a column: a string that begins with `sealed:`, or that of `value` where nothing is sealed. */
  sealJson(value: unknown, context?: string): string;
  /** Seals a value of which the JSON is at hand. */
  sealJsonText(json: string, context?: string): string;
  /** Returns the value of a column of JSON, as the driver parsed it. @throws SealedValueError, MissingEncryptionKeyError */
  openJson(stored: unknown, context?: string): unknown;
}

/** A stored value was changed, cut off, or copied from another row. */
export class SealedValueError extends StratagraphError {
  readonly code = "sealed_value";

  constructor(reason: string, options?: { cause?: unknown }) {
    super(`Expected a sealed value as it was written, got one of which ${reason}.`, options);
  }
}

/** A stored value is sealed by a key that is not configured. */
export class MissingEncryptionKeyError extends StratagraphError {
  readonly code = "missing_encryption_key";

  constructor(
    /** Id of the key that sealed the value. */
    readonly keyId: string,
    /** Ids of the keys that are configured. */
    readonly known: readonly string[],
  ) {
    const have = known.length === 0 ? "no key is configured" : `there is ${known.join(", ")}`;
    super(
      `A stored value is sealed by the encryption key "${keyId}", and ${have}. ` +
        `Add "${keyId}" to STRATAGRAPH_ENCRYPTION_KEYS; a key that is not the first only opens values.`,
    );
  }
}

/**
 * The first bytes of a sealed value. No UTF-8 text begins so, nor do packed writes. Plain bytes that do are escaped, so
 * that files which imitate the format are read as they are.
 */
const MAGIC = Buffer.of(0x9f, 0x53, 0x47, 0x56);
/** Escaped bytes that are not sealed follow. */
const PLAIN = 0;
/** The length of the key's id, the id, a nonce of 12 bytes, the ciphertext and a tag of 16 bytes follow. */
const AES_256_GCM = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const JSON_PREFIX = "sealed:";

/** Returns the bytes with which all values begin that a key seals. */
export function sealedPrefix(keyId: string): Buffer {
  const id = Buffer.from(keyId);
  return Buffer.concat([MAGIC, Buffer.of(AES_256_GCM, id.byteLength), id]);
}

/**
 * Seals with AES-256-GCM under the first key, with a random nonce for each value, and opens what any of the keys sealed.
 * Without keys nothing is sealed, and values that are sealed are refused.
 *
 * @example
 * const cipher = createValueCipher(parseEncryptionKeys("2025:3q2+7w...="));
 */
export function createValueCipher(keys: readonly EncryptionKey[]): ValueCipher {
  const secrets = new Map(keys.map(({ id, key }) => [id, createSecretKey(key)]));
  const [first] = keys;
  const secret = first && secrets.get(first.id);
  const prefix = first && sealedPrefix(first.id);

  const sealBytes = (plain: Uint8Array, context = ""): Buffer => {
    const bytes = bufferOf(plain);
    if (secret === undefined || prefix === undefined) return escapePlain(bytes);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", secret, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(authenticated(prefix, context));
    const sealed = cipher.update(bytes);
    return Buffer.concat([prefix, nonce, sealed, cipher.final(), cipher.getAuthTag()]);
  };
  const openBytes = (stored: Uint8Array, context = ""): Buffer => {
    const bytes = bufferOf(stored);
    if (!isFramed(bytes)) return bytes;
    if (bytes[MAGIC.byteLength] === PLAIN) return bytes.subarray(MAGIC.byteLength + 1);
    const { keyId, header, nonce, sealed, tag } = readSealed(bytes);
    const known = secrets.get(keyId);
    if (known === undefined) throw new MissingEncryptionKeyError(keyId, [...secrets.keys()]);
    const cipher = createDecipheriv("aes-256-gcm", known, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(authenticated(header, context)).setAuthTag(tag);
    try {
      return Buffer.concat([cipher.update(sealed), cipher.final()]);
    } catch (cause) {
      throw new SealedValueError(
        `the authentication failed under key "${keyId}": it was changed, it belongs to another row, or that key is another one than before`,
        { cause },
      );
    }
  };
  return {
    sealBytes,
    openBytes,
    sealJson(value, context) {
      return this.sealJsonText(JSON.stringify(value) ?? "null", context);
    },
    sealJsonText(text, context) {
      if (secret === undefined && !text.startsWith(`"${JSON_PREFIX}`)) return text;
      const sealed =
        secret === undefined ? framePlain(text) : sealBytes(Buffer.from(text), context);
      return toSealedJson(sealed);
    },
    openJson(stored, context) {
      if (typeof stored !== "string" || !stored.startsWith(JSON_PREFIX)) return stored;
      const bytes = Buffer.from(stored.slice(JSON_PREFIX.length), "base64");
      // A text that only begins alike, from before there was a cipher.
      if (!isFramed(bytes)) return stored;
      return JSON.parse(openBytes(bytes, context).toString()) as unknown;
    },
  };
}

/** Returns the JSON text of a column for bytes that are sealed, or escaped. */
export function toSealedJson(sealed: Buffer): string {
  return JSON.stringify(JSON_PREFIX + sealed.toString("base64"));
}

/** Returns the bytes that the JSON text of a column stands for: sealed or escaped ones, or those of the text itself. */
export function bytesOfJson(text: string): Buffer {
  if (text.startsWith(`"${JSON_PREFIX}`)) {
    const sealed = Buffer.from((JSON.parse(text) as string).slice(JSON_PREFIX.length), "base64");
    if (isFramed(sealed)) return sealed;
  }
  return Buffer.from(text);
}

function bufferOf(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether bytes are sealed, or escaped. */
export function isFramed(bytes: Buffer): boolean {
  return bytes.byteLength > MAGIC.byteLength && bytes.subarray(0, MAGIC.byteLength).equals(MAGIC);
}

/** Returns the id of the key that sealed the bytes; null if they are not sealed. */
export function sealedKeyId(bytes: Buffer): string | null {
  if (!isFramed(bytes) || bytes[MAGIC.byteLength] === PLAIN) return null;
  return readSealed(bytes).keyId;
}

function escapePlain(bytes: Buffer): Buffer {
  return bytes[0] === MAGIC[0] && bytes.subarray(0, MAGIC.byteLength).equals(MAGIC)
    ? framePlain(bytes)
    : bytes;
}

function framePlain(bytes: Buffer | string): Buffer {
  return Buffer.concat([MAGIC, Buffer.of(PLAIN), Buffer.from(bytes)]);
}

/** The length of the header stands in it, so header and context cannot be shifted against each other. */
function authenticated(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context)]);
}

/** @throws SealedValueError */
function readSealed(bytes: Buffer) {
  const version = bytes[MAGIC.byteLength];
  if (version !== AES_256_GCM)
    throw new SealedValueError(
      `the format ${version} is unknown: a newer version may have written it`,
    );
  const start = MAGIC.byteLength + 2;
  const end = start + (bytes[start - 1] ?? 0);
  const id = bytes.subarray(start, end);
  if (bytes.byteLength < end + NONCE_BYTES + TAG_BYTES || !isKeyId(id.toString()))
    throw new SealedValueError("the beginning or the end is missing");
  return {
    keyId: id.toString(),
    header: bytes.subarray(0, end),
    nonce: bytes.subarray(end, end + NONCE_BYTES),
    sealed: bytes.subarray(end + NONCE_BYTES, -TAG_BYTES),
    tag: bytes.subarray(-TAG_BYTES),
  };
}
