/** Returns the path of a member: `notes[3].title`, and `notes["a b"]` for keys that are no names. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  if (!/^[\w$-]{1,64}$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/**
 * Returns the value at a path of a difference, where elements of lists stand by their index or by their name. Undefined
 * where the path leads nowhere, was cut, or may mean two elements.
 */
export function valueAt(value: unknown, path: string): unknown {
  let at = value;
  let rest = path;
  while (rest !== "") {
    const name = /^\.?([\w$-]{1,64})/.exec(rest);
    const quoted = /^\[("(?:[^"\\]|\\.)*")\]/.exec(rest);
    const inBrackets = /^\[([^\]]*)\]/.exec(rest);
    const [step, key] = name ?? quoted ?? inBrackets ?? [];
    if (step === undefined || key === undefined) return undefined;
    if (Array.isArray(at)) at = name === null ? elementOf(at, key) : undefined;
    else at = memberOf(at, quoted !== null && name === null ? unquoted(key) : key);
    rest = rest.slice(step.length);
  }
  return at;
}

function memberOf(value: unknown, key: string | undefined): unknown {
  if (typeof value !== "object" || value === null || key === undefined) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function elementOf(list: readonly unknown[], key: string): unknown {
  const named = list.filter((one) => memberOf(one, "name") === key);
  if (!/^\d{1,9}$/.test(key)) return named.length === 1 ? named[0] : undefined;
  return named.length === 0 ? list[Number(key)] : undefined;
}

function unquoted(text: string): string | undefined {
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}
