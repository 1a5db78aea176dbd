/** JSON with the keys of every object in order, so that equal data give equal text. For data that came from JSON. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.keys(value)
    .toSorted()
    .map((key) => [key, (value as Record<string, unknown>)[key]] as const)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${entries.join(",")}}`;
}
