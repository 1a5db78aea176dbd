import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { errorMessage } from "../../errors.ts";
import { systemLookup, resolveHost } from "../../tools/builtins/http/addresses.ts";
import {
  entryFor,
  type HttpAllow,
  publicHosts,
  readAllowList,
} from "../../tools/builtins/http/allow-list.ts";
import { exchange, isRedirect } from "../../tools/builtins/http/exchange.ts";
import { headOf } from "../../values/text.ts";
import {
  AttachmentError,
  attachmentLimits,
  checkAttachment,
  type CheckedAttachment,
  checkSize,
  checkTotal,
} from "./check-attachment.ts";
import { decodeBase64 } from "./receive-messages.ts";

/** A file that comes with a message. */
export type Attachment = AttachmentSource & {
  /** Shown to models. Default: the last part of the path or URL. */
  readonly name?: string;
  /** The expected type. Another type of the content is an error. Default: the type of the content. */
  readonly mime_type?: string;
};

type AttachmentSource =
  /** Path of a local file. */
  | { readonly path: string }
  /** http or https URL, read now. Only hosts with public addresses, and those that the runtime's `httpAllow` names. */
  | { readonly url: string }
  /** Base64. */
  | { readonly data: string; readonly mime_type: string };

export interface ReadOptions {
  /** Hosts in private networks that may be read. Default: none. */
  readonly httpAllow?: readonly HttpAllow[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the attachments of a message.
 *
 * @throws AttachmentError, the signal's reason
 */
export async function readAttachments(
  attachments: readonly Attachment[],
  options: ReadOptions,
): Promise<readonly CheckedAttachment[]> {
  const { files } = attachmentLimits;
  if (attachments.length > files) {
    const found = `${attachments.length} files`;
    throw new AttachmentError(sourceName(attachments[files]), `at most ${files} files`, found);
  }
  const read: CheckedAttachment[] = [];
  for (const attachment of attachments) {
    options.signal?.throwIfAborted();
    read.push(await readAttachment(attachment, options));
    checkTotal(read);
  }
  return read;
}

async function readAttachment(given: Attachment, options: ReadOptions): Promise<CheckedAttachment> {
  const { name = sourceName(given), mime_type: declared } = given;
  const sources = ["path", "url", "data"].filter(
    (key) => typeof (given as Record<string, unknown>)[key] === "string",
  );
  if (sources.length !== 1) {
    const found = sources.length === 0 ? "none of them" : sources.join(" and ");
    throw new AttachmentError(name, "one of path, url and data", found);
  }
  if ("path" in given) {
    return checkAttachment({ name, declared, bytes: await readPath(given.path) });
  }
  if ("url" in given) {
    const { bytes, type } = await readUrl(given.url, options);
    return checkAttachment({ name, bytes, declared, hint: type });
  }
  if (declared === undefined) throw new AttachmentError(name, "a mime_type with data", "none");
  return checkAttachment({ name, declared, bytes: decodeBase64(name, given.data) });
}

function sourceName(given: Attachment | undefined): string {
  if (given?.name !== undefined) return given.name;
  if (given === undefined || "data" in given) return "attachment";
  if ("path" in given) return basename(given.path);
  if (!URL.canParse(given.url)) return headOf(given.url, 100);
  const { pathname, hostname } = new URL(given.url);
  return basename(pathname) || hostname;
}

async function readPath(path: string): Promise<Uint8Array> {
  const { fileBytes } = attachmentLimits;
  try {
    // A pipe would wait for a writer otherwise. What is open is checked, since the path may lead elsewhere by now.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new AttachmentError(path, "a file", "a folder or a device");
      checkSize(path, found.size, fileBytes);
      const chunks: Uint8Array[] = [];
      // One byte more than is allowed, of a file that grows.
      for await (const chunk of file.createReadStream({ end: fileBytes, autoClose: false })) {
        chunks.push(chunk as Uint8Array);
      }
      const bytes = Buffer.concat(chunks);
      checkSize(path, bytes.byteLength, fileBytes);
      return bytes;
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof AttachmentError) throw cause;
    throw new AttachmentError(path, "a readable file", errorMessage(cause), { cause });
  }
}

const maxRedirects = 5;
/** Milliseconds for all requests of one URL. */
const urlTimeoutMs = 30_000;

/** Follows redirects; each host is resolved and checked, and the connection is made to the checked address. */
async function readUrl(
  text: string,
  { httpAllow = [], signal: outer }: ReadOptions,
): Promise<{ readonly bytes: Uint8Array; readonly type: string | undefined }> {
  const shown = shownUrl(text);
  const refuse = (expected: string, found: string, cause?: unknown) =>
    new AttachmentError(shown, expected, found, cause === undefined ? {} : { cause });
  const timeout = AbortSignal.timeout(urlTimeoutMs);
  const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout]);
  const entries = readAllowList(httpAllow);
  const { fileBytes: maxBytes } = attachmentLimits;
  let next = text;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const url = httpUrl(next);
    if (url === null)
      throw refuse("an http or https URL without user and password", shownUrl(next));
    try {
      const entry = entryFor(url, entries) ?? publicHosts;
      const addresses = await resolveHost(url, entry, { lookup: systemLookup, signal });
      const answer = await exchange(url, { headers: {}, addresses, signal, maxBytes });
      const { status, headers, body, truncated } = answer;
      if (isRedirect(answer)) {
        next = new URL(headers.location ?? "", url).href;
        continue;
      }
      if (status >= 400) throw refuse("a file", `status ${status}`);
      if (truncated) throw refuse(`at most ${maxBytes.toLocaleString("en")} bytes`, "more");
      return { bytes: body, type: headers["content-type"] };
    } catch (thrown) {
      outer?.throwIfAborted();
      if (thrown instanceof AttachmentError) throw thrown;
      if (timeout.aborted) throw refuse(`an answer within ${urlTimeoutMs / 1000} s`, "none");
      throw refuse("a file on a host with a public address", errorMessage(thrown), thrown);
    }
  }
  throw refuse(`at most ${maxRedirects} redirects`, "more");
}

/** The beginning of a URL, without a user and password. */
function shownUrl(text: string): string {
  return headOf(text.replace(/^([^/?#]{0,20}\/\/)[^/?#]*@/, "$1…@"), 200);
}

function httpUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  return isHttp && url.username === "" && url.password === "" ? url : null;
}
