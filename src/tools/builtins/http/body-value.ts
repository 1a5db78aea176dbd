import { jsonValue } from "./json-value.ts";

/** What stands for a body that is no text. */
interface BinaryBody {
  readonly binary: true;
  readonly media_type: string;
  /** That were read. */
  readonly bytes: number;
}

/**
 * JSON as a value, text as text (HTML too, as it came), anything else as a description. A cut body is never JSON.
 * @throws DeepJsonFailure
 */
export function bodyValue(body: Buffer, contentType: string, truncated: boolean): unknown {
  const [mediaType = ""] = contentType.toLowerCase().split(";");
  const type = mediaType.trim();
  const text = textOf(body, type, contentType, truncated);
  if (text === undefined) {
    const found: BinaryBody = {
      binary: true,
      media_type: type === "" ? "application/octet-stream" : type,
      bytes: body.length,
    };
    return found;
  }
  if (truncated || !/[/+]json$/.test(type)) return text;
  return jsonValue(text);
}

function textOf(
  body: Buffer,
  type: string,
  contentType: string,
  truncated: boolean,
): string | undefined {
  if (/^(?:image|audio|video|font)\//.test(type) && type !== "image/svg+xml") return undefined;
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder = decoderOf(charset);
  // Without a charset it has to be UTF-8 all through, whatever the server calls it.
  if (charset === undefined && body.includes(0)) return undefined;
  try {
    return decoder.decode(body, { stream: truncated });
  } catch {
    return undefined;
  }
}

function decoderOf(charset: string | undefined) {
  if (charset === undefined) return new TextDecoder("utf-8", { fatal: true });
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder("utf-8", { fatal: true });
  }
}
