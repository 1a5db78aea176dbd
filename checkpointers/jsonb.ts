const UNSTORABLE = /\0|\p{Surrogate}/gu;

/** Whether `jsonb` can hold JSON data as it is. */
export function fitsJsonb(value: unknown): boolean {
  if (typeof value === "string") return value.search(UNSTORABLE) === -1;
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => fitsJsonb(key) && fitsJsonb(inner));
}

/**
 * A copy of JSON data that `jsonb` can hold. It has no NUL characters and no halves of surrogate pairs, and refuses a
 * document with one of them anywhere: NULs are left out, halves become U+FFFD, in keys as in values.
 */
export function toJsonb(value: unknown): unknown {
  if (typeof value === "string")
    return value.replace(UNSTORABLE, (found) => (found === "\0" ? "" : "\uFFFD"));
  if (Array.isArray(value)) return value.map(toJsonb);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toJsonb(key) as string, toJsonb(inner)]),
  );
}
