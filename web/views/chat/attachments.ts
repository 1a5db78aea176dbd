/** A file that goes with a message. */
export interface Attachment {
  readonly name: string;
  readonly mime_type: string;
  readonly bytes: number;
  /** Base64. */
  readonly data: string;
  /** A `blob:` address of an image, null for others. Revoke it when the file is taken away. */
  readonly preview: string | null;
}

/** Files of a message. */
const maxFiles = 10;
/** Bytes of all files of a message: Base64 makes them a third larger, and a request has 15 MiB at most. */
const maxBytes = 11_000_000;
const maxTextBytes = 1_000_000;

const readable = new Set([
  "application/json",
  "application/pdf",
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "audio/wav",
  "audio/mpeg",
  "audio/mp4",
  "audio/ogg",
  "audio/webm",
]);

/** The types that file dialogs offer. */
export const acceptedTypes = `text/*,${[...readable].join(",")}`;

/** Returns why a file cannot go with a message; null if it can, as far as its type and size tell. */
export function refusalOf(
  file: { readonly name: string; readonly type: string; readonly size: number },
  others: readonly Pick<Attachment, "bytes">[],
): string | null {
  const name = shownName(file.name);
  if (others.length >= maxFiles) return `${name}: a message takes ${maxFiles} files at most.`;
  if (file.size === 0) return `${name} is empty.`;
  const sum = others.reduce((total, { bytes }) => total + bytes, file.size);
  if (sum > maxBytes) return `${name}: the files of a message have 11 MB at most together.`;
  if (!readable.has(file.type) && file.size > maxTextBytes)
    return `${name}: a text has 1 MB at most, and other files must be images, PDF or sound.`;
  return null;
}

/**
 * Reads a file. One of a type that models do not read goes as text if it is text.
 *
 * @returns why it cannot be sent, as a text, or the attachment
 */
export async function readAttachment(
  file: File,
  others: readonly Pick<Attachment, "bytes">[],
): Promise<Attachment | string> {
  const refusal = refusalOf(file, others);
  if (refusal !== null) return refusal;
  const bytes = new Uint8Array(await file.arrayBuffer());
  const isKnown = readable.has(file.type);
  if (!isKnown && !isText(bytes))
    return `${shownName(file.name)}: models read text, images (PNG, JPEG, WebP, GIF), PDF and sound.`;
  const type = isKnown ? file.type : file.type.startsWith("text/") ? file.type : "text/plain";
  return {
    name: shownName(file.name),
    mime_type: type,
    bytes: bytes.length,
    data: toBase64(bytes),
    preview: type.startsWith("image/") ? URL.createObjectURL(file) : null,
  };
}

/** Returns a name in one line, without characters that act or turn others round. */
export function shownName(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(-120) || "file";
}

function isText(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}

function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  // A call takes no more arguments than the stack holds.
  for (let at = 0; at < bytes.length; at += 0x8000)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}
