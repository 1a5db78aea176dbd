import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

/** Figures of the source tree. Paths are relative to the project. */
export interface Shape {
  readonly modules: number;
  /** Lines of the module in the middle. */
  readonly medianLines: number;
  /** The longest modules, longest first. */
  readonly longest: readonly { readonly file: string; readonly lines: number }[];
  /** The folders with the most modules of their own, largest first. */
  readonly widest: readonly { readonly folder: string; readonly modules: number }[];
  /** Modules that a reader opens to follow a flow. */
  readonly flows: readonly {
    readonly name: string;
    readonly modules: number;
    readonly most: number;
  }[];
}

/** The most that a change may leave the tree with. */
export const shapeLimits = {
  modules: 816,
  medianLines: [120, 180],
  lines: 400,
  folder: 18,
} as const;

/** Where flows begin, the folders whose modules count, and how many modules a flow may take. */
const flows = [
  {
    name: "a step of the loop",
    from: ["loop/loop-node.ts", "loop/reason.ts", "loop/tools.ts"].map(
      (file) => `src/compile/${file}`,
    ),
    within: ["src/compile/"],
    most: 18,
  },
  {
    name: "a put of a checkpoint",
    from: ["checkpointers/writing/checkpoint-writer.ts"],
    within: ["checkpointers/"],
    most: 19,
  },
  {
    name: "a context",
    from: ["src/compile/loop/context.ts"],
    within: ["src/compile/", "src/context/"],
    most: 27,
  },
  { name: "a tool call", from: ["src/tools/run-tool-calls.ts"], within: ["src/tools/"], most: 13 },
  {
    name: "a subtask",
    from: ["src/compile/planner/execute.ts"],
    within: ["src/compile/planner/", "src/planning/"],
    most: 19,
  },
] as const;

/** Modules of the library, with their sources. */
function readModules(): ReadonlyMap<string, string> {
  const modules = new Map<string, string>();
  for (const folder of ["src", "checkpointers"]) {
    for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const file = `${folder}/${path.replaceAll("\\", "/")}`;
      if (/\.(ts|mjs|js)$/.test(file)) modules.set(file, readFileSync(file, "utf8"));
    }
  }
  return modules;
}

/** The modules that are reached from some by imports of types and values, `import()` excepted, within folders. */
function closure(
  modules: ReadonlyMap<string, string>,
  from: readonly string[],
  within: readonly string[],
): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path) || !within.some((folder) => path?.startsWith(folder))) continue;
    const source = modules.get(path);
    if (source === undefined) throw new Error(`There is no module ${path}`);
    reached.add(path);
    open.push(...importsOf(path, source).filter((target) => existsSync(target)));
  }
  return reached;
}

/** What a module imports, `import()` excepted: paths of modules, and names of packages. */
function importsOf(path: string, source: string, { types = true } = {}): string[] {
  const parsed = ts.createSourceFile(path, source, ts.ScriptTarget.Latest);
  return parsed.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    if (!types && isOfTypes(statement)) return [];
    const { text } = moduleSpecifier;
    return [text.startsWith(".") ? posix.join(posix.dirname(path), text) : text];
  });
}

function isOfTypes(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const bindings = statement.importClause?.namedBindings;
  const hasTypesAlone =
    bindings !== undefined &&
    ts.isNamedImports(bindings) &&
    bindings.elements.every(({ isTypeOnly }) => isTypeOnly);
  return statement.importClause?.isTypeOnly === true || hasTypesAlone;
}

/** All that a module loads at once: modules, and packages by their names. */
export function staticImports(from: string): ReadonlySet<string> {
  const modules = readModules();
  const reached = new Set<string>();
  const open = [from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    open.push(...importsOf(path, modules.get(path) ?? "", { types: false }));
  }
  return reached;
}

export function measureShape(): Shape {
  const modules = readModules();
  const sizes = [...modules].map(([file, source]) => ({
    file,
    lines: source.split("\n").length - 1,
  }));
  const longest = sizes.toSorted((a, b) => b.lines - a.lines);
  const folders = new Map<string, number>();
  for (const file of modules.keys()) {
    const folder = posix.dirname(file);
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  return {
    modules: modules.size,
    medianLines: longest[Math.floor(longest.length / 2)]!.lines,
    longest,
    widest: [...folders]
      .map(([folder, count]) => ({ folder, modules: count }))
      .toSorted((a, b) => b.modules - a.modules),
    flows: flows.map(({ name, from, within, most }) => ({
      name,
      most,
      modules: closure(modules, from, within).size,
    })),
  };
}

/** `npm run shape`: prints the figures beside their limits. */
function printShape(): void {
  const { modules, medianLines, longest, widest, flows: measured } = measureShape();
  const [least, most] = shapeLimits.medianLines;
  console.log(
    `${modules} modules (at most ${shapeLimits.modules}), ${medianLines} lines in the median (${least} to ${most})`,
  );
  console.log(`Longest modules (at most ${shapeLimits.lines} lines):`);
  for (const { file, lines } of longest.slice(0, 5)) console.log(`  ${lines}  ${file}`);
  console.log(`Largest folders (at most ${shapeLimits.folder} modules):`);
  for (const { folder, modules: count } of widest.slice(0, 5)) console.log(`  ${count}  ${folder}`);
  console.log("Modules to follow a flow:");
  for (const flow of measured)
    console.log(`  ${flow.modules}  ${flow.name} (at most ${flow.most})`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) printShape();
