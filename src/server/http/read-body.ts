import { HttpProblem } from "../problems.ts";
import { type JsonLimits, parseJsonText } from "./json-text.ts";

export interface BodyLimits extends JsonLimits {
  readonly maxBytes: number;
}

/** A body as it came, and its value. */
export interface JsonBody {
  readonly bytes: Uint8Array;
  readonly value: unknown;
}

/**
 * Reads the JSON body of a request. Reading stops at the limit, whatever length the request announces.
 *
 * @param mediaTypes types that the route takes, in lower case
 * @throws HttpProblem `unsupported_media_type`, `body_too_large`, `invalid_json`, `invalid_request`
 */
export async function readJsonBody(
  request: Request,
  mediaTypes: readonly string[],
  limits: BodyLimits,
): Promise<JsonBody> {
  checkMediaType(request.headers, mediaTypes);
  const bytes = await readBytes(request, limits.maxBytes);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem("invalid_json", { detail: "The body is not valid UTF-8." });
  }
  return { bytes, value: parseJsonText(text, limits) };
}

function checkMediaType(headers: Headers, mediaTypes: readonly string[]): void {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "")
    .split(";")
    .map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (!mediaTypes.includes(type) || !isUtf8) {
    throw new HttpProblem("unsupported_media_type", {
      detail: `Send the body as ${mediaTypes.join(" or ")} in UTF-8, with a Content-Type.`,
      headers: { "Accept-Post": mediaTypes.join(", ") },
    });
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new HttpProblem("unsupported_media_type", {
      detail: "Send the body without a Content-Encoding.",
      headers: { "Accept-Encoding": "identity" },
    });
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  // The body of a request that ends early stays open: the connection is closed after the answer.
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new HttpProblem("invalid_request", { detail: "The body ended too early.", cause });
    });
    if (done) break;
    length += value.byteLength;
    if (length > maxBytes) {
      void reader.cancel().catch(() => undefined);
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks, length);
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem("body_too_large", {
    detail: `The body may have ${maxBytes.toLocaleString("en")} bytes.`,
    headers: { Connection: "close" },
  });
}
