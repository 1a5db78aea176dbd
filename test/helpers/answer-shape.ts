/** What answers of two servers have in common apart from ids, times and the numbers of what was measured. */

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const hash = /\b[0-9a-f]{32,64}\b/gi;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

function plain(text: string): string {
  return text.replaceAll(time, "<time>").replaceAll(uuid, "<id>").replaceAll(hash, "<hash>");
}

/** Returns a value of JSON with stand-ins for ids, hashes and times, in keys too. */
export function withoutIds(value: unknown): unknown {
  if (typeof value === "string") return plain(value);
  if (Array.isArray(value)) return value.map(withoutIds);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, own]) => [plain(key), withoutIds(own)]),
  );
}

/** Returns the types of a value of JSON by path, as in `tasks[].id`. Entries of a list have one path. */
function shapeOf(value: unknown): ReadonlyMap<string, ReadonlySet<string>> {
  const shape = new Map<string, Set<string>>();
  const add = (path: string, own: unknown) => {
    const type = own === null ? "null" : Array.isArray(own) ? "list" : typeof own;
    shape.set(path, (shape.get(path) ?? new Set()).add(type));
    if (Array.isArray(own)) for (const entry of own) add(`${path}[]`, entry);
    else if (typeof own === "object" && own !== null) {
      for (const [key, inner] of Object.entries(own)) add(`${path}.${key}`, inner);
    }
  };
  add("", withoutIds(value));
  return shape;
}

/**
 * Returns how the shape of an answer differs from an expected one: `+ path` for what it has in addition, `- path` for
 * what it lacks, `~ path: type, not type` for another type. What is inside of such a path is left out.
 */
export function shapeDifferences(expected: unknown, answer: unknown): readonly string[] {
  const [wanted, given] = [shapeOf(expected), shapeOf(answer)];
  const typesOf = (types: ReadonlySet<string> | undefined) =>
    [...(types ?? [])].toSorted().join("|");
  const all = [...new Set([...wanted.keys(), ...given.keys()])].toSorted();
  const found: string[] = [];
  const covered: string[] = [];
  for (const path of all) {
    if (covered.some((outer) => path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`)))
      continue;
    const [want, give] = [typesOf(wanted.get(path)), typesOf(given.get(path))];
    if (want === give) continue;
    if (want === "") found.push(`+ ${path}`);
    else if (give === "") found.push(`- ${path}`);
    else found.push(`~ ${path}: ${give}, not ${want}`);
    covered.push(path);
  }
  return found;
}

/** Returns a value of JSON without what is at some paths, as in `[].metadata.id`. */
export function withoutPaths(value: unknown, paths: ReadonlySet<string>, at = ""): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutPaths(entry, paths, `${at}[]`));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !paths.has(`${at}.${key}`));
  return Object.fromEntries(
    kept.map(([key, own]) => [key, withoutPaths(own, paths, `${at}.${key}`)]),
  );
}
