/** `import { a, b } from "./other.js";` */
const importLine = /^import \{([^}]*)\} from "\.\/([\w-]+)\.js";\n/gm;
/** `export function a(` and `export const a =` */
const exportLine = /^export (const|function) (\w+)/gm;

/**
 * Joins modules into the text of one, since a page without network cannot import: each becomes a function that is called
 * once, after those that it imports from. They import and export by name only, each name on its own, and not in a circle.
 *
 * @param entry name of the first module, without `.js`
 * @param read the text of a module by its name
 */
export function joinModules(entry: string, read: (name: string) => string): string {
  const joined = new Map<string, string>();
  const add = (name: string) => {
    if (joined.has(name)) return;
    const source = read(name);
    for (const [, , imported = ""] of source.matchAll(importLine)) add(imported);
    joined.set(name, asFunction(name, source));
  };
  add(entry);
  return [...joined.values()].join("\n");
}

function asFunction(name: string, source: string): string {
  const exported = [...source.matchAll(exportLine)].map(([, , own]) => own);
  const body = source
    .replaceAll(
      importLine,
      (_line, names: string, from: string) => `const {${names}} = ${variable(from)};\n`,
    )
    .replaceAll(exportLine, "$1 $2");
  return `const ${variable(name)} = (() => {\n${body}return { ${exported.join(", ")} };\n})();`;
}

function variable(name: string): string {
  return `module_${name.replaceAll("-", "_")}`;
}
