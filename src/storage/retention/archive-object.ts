import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { StratagraphError } from "../../errors.ts";
import { sealedKeyId, type ValueCipher } from "../encryption/value-cipher.ts";

/** Version of the format of objects. Readers refuse newer ones. */
export const ARCHIVE_FORMAT = 1;

/** An object of an archive, as its manifest has it. */
export interface ArchivePart {
  /** Of the object, compressed and sealed. */
  readonly bytes: number;
  readonly raw_bytes: number;
  /** Of the object, in hex. */
  readonly sha256: string;
  readonly lines: number;
  /** The key that sealed it; null if it is not encrypted. */
  readonly key_id: string | null;
}

/** An object of an archive is missing, or is not as it was written. */
export class DamagedArchiveError extends StratagraphError {
  readonly code = "damaged_archive";
  override readonly kind = "run";

  constructor(
    readonly archiveId: string,
    readonly part: number,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Part ${part} of archive ${archiveId} is damaged: ${reason}. Nothing was changed. Restore the object from a backup of the archive.`,
      options,
    );
  }
}

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Packs lines into an object: JSON lines, gzip, and sealed where there is a key. */
export async function packPart(
  lines: readonly string[],
  { cipher, context }: { readonly cipher: ValueCipher; readonly context: string },
): Promise<{ readonly object: Buffer; readonly part: ArchivePart }> {
  const raw = Buffer.from(`${lines.join("\n")}\n`);
  const object = cipher.sealBytes(await compress(raw), context);
  const part = {
    bytes: object.byteLength,
    raw_bytes: raw.byteLength,
    sha256: createHash("sha256").update(object).digest("hex"),
    lines: lines.length,
    key_id: sealedKeyId(object),
  };
  return { object, part };
}

/**
 * Returns the lines of an object.
 *
 * @throws DamagedArchiveError if it is not the one that was written; MissingEncryptionKeyError
 */
export async function unpackPart(
  object: Buffer | null,
  of: {
    readonly archiveId: string;
    readonly index: number;
    readonly part: ArchivePart;
    readonly cipher: ValueCipher;
    readonly context: string;
  },
): Promise<readonly string[]> {
  const { archiveId, index, part, cipher, context } = of;
  const damaged = (reason: string, cause?: unknown) =>
    new DamagedArchiveError(archiveId, index, reason, { cause });
  if (object === null) throw damaged("it is not there");
  if (createHash("sha256").update(object).digest("hex") !== part.sha256)
    throw damaged("it does not have the SHA-256 of its manifest");
  const compressed = cipher.openBytes(object, context);
  let raw: Buffer;
  try {
    raw = await decompress(compressed, { maxOutputLength: part.raw_bytes });
  } catch (cause) {
    throw damaged("it cannot be decompressed", cause);
  }
  const lines = raw.toString().split("\n");
  if (lines.pop() !== "" || lines.length !== part.lines || raw.byteLength !== part.raw_bytes)
    throw damaged("it has another number of lines than its manifest");
  return lines;
}
