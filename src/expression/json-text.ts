/**
 * A JSON value inside a text: strings as they are, null as nothing, other values as JSON. Undefined when that takes more
 * than `limit` characters, which is found out before the JSON is made.
 *
 * @throws RangeError or TypeError when it is nested too deeply, or no JSON
 */
export function jsonText(value: unknown, limit: number): string | undefined {
  if (value === null) return "";
  if (typeof value === "string") return value.length > limit ? undefined : value;
  if (leftAfter(value, limit) < 0) return undefined;
  const text = JSON.stringify(value) ?? "";
  return text.length > limit ? undefined : text;
}

/** What is left of `limit` after the least that the JSON of `value` takes; negative ends the count early. */
function leftAfter(value: unknown, limit: number): number {
  if (typeof value === "string") return limit - value.length - 2;
  if (typeof value !== "object" || value === null) return limit - 1;
  let left = limit - 2;
  for (const [key, part] of Object.entries(value)) {
    if (left < 0) return left;
    left = leftAfter(part, left - (Array.isArray(value) ? 1 : key.length + 3));
  }
  return left;
}
