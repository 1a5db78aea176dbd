import { posix } from "node:path";
import ts from "typescript";
import type { Fault } from "./faults.ts";
import type { RanFile } from "./working-copy.ts";

export interface Probe {
  readonly id: number;
  readonly fault: Fault;
}

/**
 * The source with a call before every statement in which one of the faults lies. The call appends a {@link Reached} to a file,
 * once for each fault in a process. Lines keep their numbers.
 *
 * @param reachFile absolute; processes that tests start get it without an environment
 */
export function insertProbes(source: string, probes: readonly Probe[], reachFile: string): string {
  const file = ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true);
  const inserts = probes
    .flatMap(({ id, fault }) => insertsAround(unitAt(file, fault), `__reached(${id})`))
    .toSorted((a, b) => b.at - a.at);
  const probed = inserts.reduce(
    (text, { at, code }) => text.slice(0, at) + code + text.slice(at),
    source,
  );
  return `${probed}\n${reachedFunction(reachFile)}`;
}

/** A line of the file that the probes write to. */
export interface Reached {
  readonly id: number;
  /** The test file, absolute; empty in a process that a test started. */
  readonly file: string;
  /** Milliseconds since 1970, unless `file` is given: tests replace clocks. */
  readonly time: number;
}

/**
 * The test files that reached each fault. What a process started by a test reached is attributed to every test file that ran
 * at the time.
 */
export function testsByFault(
  reached: readonly Reached[],
  files: readonly RanFile[],
  folder: string,
): Map<number, Set<string>> {
  const tests = new Map<number, Set<string>>();
  for (const { id, file, time } of reached) {
    const paths =
      file === ""
        ? files.filter(({ begin, end }) => begin <= time && time <= end).map(({ path }) => path)
        : [posix.relative(folder, file)];
    const known = tests.get(id) ?? new Set();
    tests.set(id, known);
    for (const path of paths) known.add(path);
  }
  return tests;
}

/** The smallest statement or expression that runs as a whole and has the fault in it. */
type Unit =
  | { readonly kind: "statement in a list" | "lone statement"; readonly node: ts.Statement }
  | { readonly kind: "expression"; readonly node: ts.Expression };

function unitAt(file: ts.SourceFile, { start, end }: Fault): Unit {
  let unit: Unit | undefined;
  const visit = (node: ts.Node): void => {
    if (node.getStart() > start || node.end < end) return;
    unit = asUnit(node) ?? unit;
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  if (unit === undefined)
    throw new RangeError(`No statement has the characters ${start} to ${end}.`);
  return unit;
}

function asUnit(node: ts.Node): Unit | undefined {
  const { parent } = node;
  if (ts.isStatement(node) && !ts.isBlock(node) && !ts.isLabeledStatement(parent)) {
    const isInList =
      ts.isBlock(parent) || ts.isSourceFile(parent) || ts.isCaseOrDefaultClause(parent);
    return { kind: isInList ? "statement in a list" : "lone statement", node };
  }
  const isValue =
    (ts.isArrowFunction(parent) && parent.body === node && !ts.isBlock(node)) ||
    ((ts.isPropertyDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent)) &&
      parent.initializer === node);
  return isValue ? { kind: "expression", node: node as ts.Expression } : undefined;
}

interface Insert {
  readonly at: number;
  readonly code: string;
}

function insertsAround({ kind, node }: Unit, call: string): Insert[] {
  const at = node.getStart();
  if (kind === "statement in a list") return [{ at, code: `${call}; ` }];
  const [before, after] = kind === "expression" ? [`(${call}, `, ")"] : [`{ ${call}; `, " }"];
  return [
    { at, code: before },
    { at: node.end, code: after },
  ];
}

/** Has no imports, since tests mock modules. */
function reachedFunction(reachFile: string): string {
  return `function __reached(id: number): void {
  const scope = globalThis as { __reachedFaults?: Set<string>; __vitest_worker__?: { filepath?: string } };
  const seen = (scope.__reachedFaults ??= new Set());
  const file = scope.__vitest_worker__?.filepath ?? "";
  const key = JSON.stringify({ id, file });
  if (seen.has(key)) return;
  seen.add(key);
  const time = Date.now();
  process.getBuiltinModule("node:fs").appendFileSync(${JSON.stringify(reachFile)}, JSON.stringify({ id, file, time }) + "\\n");
}
`;
}
