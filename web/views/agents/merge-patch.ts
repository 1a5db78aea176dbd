type Document = Readonly<Record<string, unknown>>;

/** The changes of a document as a merge patch (RFC 7396), or the place of a null, which a patch cannot set. */
export type MergePatch =
  | { readonly ok: true; readonly patch: Document }
  | { readonly ok: false; readonly path: readonly string[] };

/** Makes the merge patch that turns one document into another. */
export function createMergePatch(before: Document, after: Document): MergePatch {
  const found: { path: readonly string[] | null } = { path: null };
  const patch = changes(before, after, [], found);
  return found.path === null ? { ok: true, patch } : { ok: false, path: found.path };
}

function changes(
  before: Document,
  after: Document,
  path: readonly string[],
  found: { path: readonly string[] | null },
): Document {
  const removed = Object.keys(before)
    .filter((key) => !Object.hasOwn(after, key))
    .map((key) => [key, null] as const);
  const changed = Object.entries(after).flatMap(([key, value]): [string, unknown][] => {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (JSON.stringify(old) === JSON.stringify(value)) return [];
    if (value === null) {
      found.path ??= [...path, key];
      return [];
    }
    if (!isDocument(value)) return [[key, value]];
    return [[key, changes(isDocument(old) ? old : {}, value, [...path, key], found)]];
  });
  return Object.fromEntries([...removed, ...changed]);
}

function isDocument(value: unknown): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
