/** Words of Mermaid's that are no ids, in lower case. */
const reserved: ReadonlySet<string> = new Set([
  "end",
  "graph",
  "flowchart",
  "subgraph",
  "style",
  "linkstyle",
  "classdef",
  "class",
  "click",
  "call",
  "href",
  "default",
  "interpolate",
  "direction",
  "tb",
  "td",
  "bt",
  "rl",
  "lr",
  "acctitle",
  "accdescr",
  "title",
]);

/** An id for each name that Mermaid takes, as near to the name as can be, and no two the same. */
export function mermaidIds(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const ids = new Map<string, string>();
  for (const name of names) {
    const plain = name.replaceAll(/\W/g, "_");
    const base = reserved.has(plain.toLowerCase()) ? `${plain}_` : plain;
    let id = base;
    for (let number = 2; taken.has(id); number += 1) id = `${base}_${number}`;
    taken.add(id);
    ids.set(name, id);
  }
  return ids;
}
