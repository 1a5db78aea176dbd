/** A byte at an offset that a type's files begin with; text stands for its ASCII codes. */
type Signature = readonly [offset: number, bytes: string];

/** Magic bytes of the types that can be attached, the most specific first. */
const signatures: readonly (readonly [mimeType: string, ...parts: readonly Signature[]])[] = [
  ["image/png", [0, "\x89PNG\r\n\x1a\n"]],
  ["image/jpeg", [0, "\xff\xd8\xff"]],
  ["image/webp", [0, "RIFF"], [8, "WEBP"]],
  ["image/gif", [0, "GIF87a"]],
  ["image/gif", [0, "GIF89a"]],
  ["application/pdf", [0, "%PDF-"]],
  ["audio/wav", [0, "RIFF"], [8, "WAVE"]],
  ["audio/mpeg", [0, "ID3"]],
  ["audio/ogg", [0, "OggS"]],
  ["audio/webm", [0, "\x1a\x45\xdf\xa3"]],
  ["audio/mp4", [4, "ftyp"]],
];

/** Types by the ending of a file's name, in lower case. */
const extensions: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  pdf: "application/pdf",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  mp4: "audio/mp4",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: "audio/ogg",
  weba: "audio/webm",
  webm: "audio/webm",
  json: "application/json",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  htm: "text/html",
  xml: "text/xml",
  css: "text/css",
  js: "text/javascript",
  yaml: "text/yaml",
  yml: "text/yaml",
  log: "text/plain",
};

/** Other names of the same type. */
const aliases: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "audio/mp3": "audio/mpeg",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-m4a": "audio/mp4",
  "audio/m4a": "audio/mp4",
  "video/mp4": "audio/mp4",
  "video/webm": "audio/webm",
  "application/ogg": "audio/ogg",
  "application/x-pdf": "application/pdf",
  "application/yaml": "text/yaml",
  "application/xml": "text/xml",
  "application/javascript": "text/javascript",
};

/** Returns a type without parameters, in lower case and under its usual name; null for a text that is no type. */
export function plainMediaType(text: string): string | null {
  const [type = ""] = text.split(";");
  const plain = type.trim().toLowerCase();
  if (!/^[a-z0-9]+\/[a-z0-9][a-z0-9.+-]{0,100}$/.test(plain)) return null;
  return aliases[plain] ?? plain;
}

/** Whether files of a type are read as text. */
export function isTextType(mimeType: string): boolean {
  return mimeType.startsWith("text/") || mimeType === "application/json";
}

/** Returns the type that a name's ending stands for; null for an unknown ending. */
export function mediaTypeOfName(name: string): string | null {
  const [, extension = ""] = /\.([a-z0-9]{1,8})$/i.exec(name) ?? [];
  return extensions[extension.toLowerCase()] ?? null;
}

/** Returns the type whose magic bytes a file begins with; null if it has none of those that are known. */
export function sniffMediaType(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 16)).toString(
    "latin1",
  );
  const found = signatures.find(([, ...parts]) =>
    parts.every(([offset, expected]) => head.startsWith(expected, offset)),
  );
  if (found !== undefined) return found[0];
  return isMpegFrame(bytes) ? "audio/mpeg" : null;
}

/** Whether bytes begin with a frame header of MPEG audio layer III (ISO/IEC 11172-3, 2.4.2.3). */
function isMpegFrame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const isLayer3 = (second & 0x06) === 0x02 && (second & 0x18) !== 0x08;
  return first === 0xff && (second & 0xe0) === 0xe0 && isLayer3 && third >> 4 !== 0x0f;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns bytes as UTF-8 text without a byte order mark; null for bytes that are no text. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = decoder.decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
