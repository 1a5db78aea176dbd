import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";

const mediaTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** A file of the built page. */
export interface PageFile {
  readonly mediaType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/**
 * Reads the files of a built page by their paths below the folder, all of them: a request never names a file of the disk.
 * Files of other types are left out. Empty if the folder is not there.
 */
export function readPageFiles(folder: URL): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of namesIn(folder)) {
    const mediaType = mediaTypes[extname(name)];
    if (mediaType === undefined) continue;
    files.set(name.replaceAll("\\", "/"), pageFile(readFileSync(new URL(name, folder)), mediaType));
  }
  return files;
}

/** Makes a file of the page from its content. */
export function pageFile(content: Uint8Array, mediaType: string): PageFile {
  const hash = createHash("sha256").update(content).digest("base64url");
  return {
    mediaType,
    bytes: new Uint8Array(content),
    gzipped: new Uint8Array(gzipSync(content)),
    etag: `"${hash.slice(0, 22)}"`,
  };
}

/** Answers a GET or HEAD request with a file, or with 304 if the client has it. */
export function fileAnswer(
  request: Request,
  file: PageFile,
  given: Readonly<Record<string, string>>,
): Response {
  const cached = { ETag: file.etag, Vary: "Accept-Encoding", ...given };
  if (isKnown(request.headers.get("if-none-match"), file.etag))
    return new Response(null, { status: 304, headers: cached });
  const headers: Record<string, string> = { "Content-Type": file.mediaType, ...cached };
  const isGzipped = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  if (isGzipped) headers["Content-Encoding"] = "gzip";
  const body = isGzipped ? file.gzipped : file.bytes;
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

/** Whether a client has the file: caches on the way may have weakened the tag, and clients may name several. */
function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags?.some((tag) => tag === etag || tag === "*") ?? false;
}

function namesIn(folder: URL): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (thrown) {
    if (Object(thrown).code === "ENOENT") return [];
    throw thrown;
  }
}
