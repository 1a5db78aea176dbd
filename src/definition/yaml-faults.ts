import type { Document, YAMLError, visit as Visit } from "yaml";

/** Why a text is no YAML that a definition can be read from, and the offset of it. */
export interface YamlFault {
  readonly what: string;
  readonly offset: number;
}

/** Aliases are few in a definition; a file that multiplies them is an attack. */
const maxAliases = 100;

/**
 * What keeps a document from being read; none for one that {@link toPlain} turns into a value.
 *
 * @param what one of the kind that a file holds, such as `definition`
 */
export function yamlFaults(
  document: Document.Parsed,
  visit: typeof Visit,
  what: string,
): readonly YamlFault[] {
  const told = [...document.errors, ...document.warnings].map((error) => describe(error, what));
  if (told.length > 0) return [...new Map(told.map((fault) => [fault.what, fault])).values()];
  try {
    return [...duplicateKeys(document, visit), ...aliasFaults(document, visit)];
  } catch (thrown) {
    return [refusal(thrown, 0)];
  }
}

/** The document as a plain value, or why it has none. */
export function toPlain(document: Document.Parsed): { value: unknown } | { fault: YamlFault } {
  try {
    return { value: document.toJS({ maxAliasCount: maxAliases }) };
  } catch (thrown) {
    return { fault: refusal(thrown, document.contents?.range[0] ?? 0) };
  }
}

function describe(error: YAMLError, what: string): YamlFault {
  const [offset] = error.pos;
  switch (error.code) {
    case "MULTIPLE_DOCS":
      return { what: `a second document begins here; a file holds one ${what}`, offset };
    case "TAB_AS_INDENT":
      return { what: "a tab indents this line; use spaces", offset };
    case "RESOURCE_EXHAUSTION":
      return { what: tooDeep, offset };
    default:
      return { what: error.message, offset };
  }
}

const tooDeep = "nested too deeply to be read";

function refusal(thrown: unknown, offset: number): YamlFault {
  if (thrown instanceof RangeError) return { what: tooDeep, offset };
  return { what: `its aliases stand for more than ${maxAliases} values`, offset };
}

/** The parser's own check takes quadratic time. */
function duplicateKeys(document: Document.Parsed, visit: typeof Visit): readonly YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items as readonly {
        key: { value?: unknown; range?: [number, number, number] } | null;
      }[]) {
        const name = String(key?.value);
        if (seen.has(name)) {
          faults.push({
            what: `the key ${JSON.stringify(name)} is written twice`,
            offset: key?.range?.[0] ?? 0,
          });
        }
        seen.add(name);
      }
    },
  });
  return faults;
}

function aliasFaults(document: Document.Parsed, visit: typeof Visit): readonly YamlFault[] {
  const anchors = new Set<string>();
  const faults: YamlFault[] = [];
  let aliases = 0;
  visit(document, {
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor);
    },
    Alias(_key, { source, range }) {
      const offset = range?.[0] ?? 0;
      aliases += 1;
      if (!anchors.has(source)) {
        faults.push({ what: `no value before this alias has the anchor &${source}`, offset });
      } else if (aliases === maxAliases + 1) {
        faults.push({ what: `there are more than ${maxAliases} aliases`, offset });
      }
    },
  });
  return faults;
}
