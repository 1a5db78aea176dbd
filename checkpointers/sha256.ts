import * as crypto from "node:crypto";

/** Several times cheaper for short data; Node has it from 20.12 on. */
const oneShot = (crypto as Partial<Pick<typeof crypto, "hash">>).hash;

/** SHA-256 of the parts, one after the other: 32 bytes. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && oneShot) return oneShot("sha256", only, "buffer");
  const hash = crypto.createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
