import { type JsonCopy, toJson } from "./json-value.ts";
import { cutToJsonBytes, jsonStringBytes } from "./text-size.ts";

/** What stands in place of a result that is no text and has more bytes than its tool's `max_result_bytes`. */
export interface CutResult {
  readonly truncated: true;
  /** UTF-8 bytes of the whole result's JSON; at least so many when `original_bytes_counted` is false. */
  readonly original_bytes: number;
  /** Left out when the bytes are exact. */
  readonly original_bytes_counted?: false;
  /** The beginning of the result's JSON, as text. */
  readonly preview: string;
}

/**
 * Any handler's result as JSON of at most `maxBytes`, the mark of a cut included (a limit smaller than the mark gives
 * the mark alone). A text that is too long is cut and says so at its end; anything else becomes a {@link CutResult}.
 * @param clean takes out of a result that is cut what nobody is to see. It is given more than what is kept, since the cut
 * may leave a beginning that it would not know.
 * @throws what a getter, a proxy or `toJSON` of the value throws.
 */
export function limitResult(
  result: unknown,
  maxBytes: number,
  clean?: (json: unknown) => unknown,
): unknown {
  const json = toJson(result, maxBytes);
  if (json.whole) return json.value;
  if (clean === undefined) return cut(json, maxBytes);
  const { value, bytes, whole, counted } = toJson(result, maxBytes * cleanedFactor);
  const cleaned = toJson(clean(value), maxBytes);
  return whole && cleaned.whole ? cleaned.value : cut({ ...cleaned, bytes, counted }, maxBytes);
}

/** How much more than what is kept is cleaned, as a factor. */
const cleanedFactor = 16;

function cut(json: JsonCopy, maxBytes: number): string | CutResult {
  if (typeof json.value === "string") {
    const size = `${json.counted ? "" : "more than "}${json.bytes.toLocaleString("en")}`;
    const mark = `… [cut: ${size} bytes, the limit is ${maxBytes.toLocaleString("en")}]`;
    return cutToJsonBytes(json.value, maxBytes - jsonStringBytes(mark)) + mark;
  }
  const mark: CutResult = {
    truncated: true,
    original_bytes: json.bytes,
    ...(json.counted ? {} : { original_bytes_counted: false }),
    preview: "",
  };
  const room = maxBytes - JSON.stringify(mark).length;
  return { ...mark, preview: cutToJsonBytes(JSON.stringify(json.value), room) };
}
