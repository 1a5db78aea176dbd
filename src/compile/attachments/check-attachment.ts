import { StratagraphError } from "../../errors.ts";
import { attachmentName } from "../../state/attachment.ts";
import {
  decodeText,
  isTextType,
  mediaTypeOfName,
  plainMediaType,
  sniffMediaType,
} from "../../values/media-type.ts";

/** What one message may have attached. Sizes are in bytes. */
export const attachmentLimits = {
  files: 10,
  fileBytes: 20_000_000,
  textBytes: 1_000_000,
  totalBytes: 50_000_000,
} as const;

/** The types that can be attached, apart from text. */
const types: readonly string[] = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf",
  "audio/wav",
  "audio/mpeg",
  "audio/mp4",
  "audio/ogg",
  "audio/webm",
];

/** An attachment cannot be used. Nothing was written. */
export class AttachmentError extends StratagraphError {
  readonly code = "attachment";

  constructor(
    /** The file's name, path or URL. */
    readonly attachment: string,
    readonly expected: string,
    readonly found: string,
    options?: { cause?: unknown },
  ) {
    super(`Attachment "${attachment}": expected ${expected}, got ${found}.`, options);
  }
}

/** The bytes of an attachment and their type. */
export interface CheckedAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** The content of a text type; null for the others. */
  readonly text: string | null;
}

/**
 * Determines the type of a file by its first bytes, then by what was declared, its name and the hint.
 *
 * @throws AttachmentError for a type that is not known or not as declared, and for a file that is empty or too large
 */
export function checkAttachment(of: {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The declared MIME type. */
  readonly declared?: string | undefined;
  /** A type that may be wrong, such as a server's. */
  readonly hint?: string | undefined;
}): CheckedAttachment {
  const { bytes } = of;
  const name = attachmentName(of.name);
  if (bytes.byteLength === 0) throw new AttachmentError(name, "a file with content", "0 bytes");
  checkSize(name, bytes.byteLength, attachmentLimits.fileBytes);
  const declared = declaredType(name, of.declared);
  const sniffed = sniffMediaType(bytes);
  if (sniffed !== null) {
    if (declared !== null && declared !== sniffed) throw mismatch(name, declared, sniffed);
    return { name, mimeType: sniffed, bytes, text: null };
  }
  const hint = of.hint === undefined ? null : textTypeOf(of.hint);
  const mimeType = declared ?? mediaTypeOfName(name) ?? hint ?? "text/plain";
  if (!isTextType(mimeType)) throw mismatch(name, mimeType, "bytes that do not begin like it");
  checkSize(name, bytes.byteLength, attachmentLimits.textBytes);
  const text = decodeText(bytes);
  if (text === null) {
    const known = "UTF-8 text, PNG, JPEG, WebP, GIF, PDF, WAV, MPEG, MP4, Ogg or WebM audio";
    throw new AttachmentError(name, known, "bytes of another type");
  }
  return { name, mimeType, bytes, text };
}

/** Returns the text type that a server says, without its parameters; null for any other. */
function textTypeOf(hint: string): string | null {
  const type = (hint.split(";", 1)[0] ?? "").trim().toLowerCase();
  return isTextType(type) ? type : null;
}

/** @throws AttachmentError when there are too many attachments, or too large ones together */
export function checkTotal(
  attachments: readonly {
    readonly name: string;
    readonly bytes: Pick<Uint8Array, "byteLength">;
  }[],
): void {
  const { files, totalBytes } = attachmentLimits;
  const last = attachments.at(-1)?.name ?? "";
  if (attachments.length > files) {
    throw new AttachmentError(
      last,
      `at most ${files} files with a message`,
      `${attachments.length}`,
    );
  }
  const total = attachments.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (total > totalBytes) {
    const most = totalBytes.toLocaleString("en");
    const found = `${total.toLocaleString("en")} bytes`;
    throw new AttachmentError(last, `at most ${most} bytes with a message`, found);
  }
}

/** @throws AttachmentError */
export function checkSize(name: string, bytes: number, limit: number): void {
  if (bytes <= limit) return;
  const [most, found] = [limit, bytes].map((count) => `${count.toLocaleString("en")} bytes`);
  throw new AttachmentError(name, `at most ${most}`, found ?? "");
}

/** @throws AttachmentError for a type that cannot be attached */
function declaredType(name: string, declared: string | undefined): string | null {
  if (declared === undefined || declared === "") return null;
  const type = plainMediaType(declared);
  if (type === "application/octet-stream") return null;
  if (type !== null && (isTextType(type) || types.includes(type))) return type;
  const shown = JSON.stringify(declared.slice(0, 100));
  throw new AttachmentError(name, `text/*, application/json or one of ${types.join(", ")}`, shown);
}

function mismatch(name: string, declared: string, found: string): AttachmentError {
  return new AttachmentError(name, `the content of ${declared}`, found);
}
