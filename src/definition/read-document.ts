import { jsonSyntaxProblem } from "./json-text.ts";
import { PositionFinder } from "./position.ts";
import type { DefinitionProblem } from "./problems.ts";
import { toPlain, yamlFaults, type YamlFault } from "./yaml-faults.ts";

/** A YAML or JSON document that was read, or why it cannot be. */
export type ReadDocument =
  | {
      readonly ok: true;
      /** As plain JSON. */
      readonly written: unknown;
      /** Problems with the file and where in it they are, in the order of their places. */
      readonly placed: (problems: readonly DefinitionProblem[]) => readonly DefinitionProblem[];
    }
  | {
      readonly ok: false;
      /** They begin with "YAML:" or "JSON syntax:" where the text is neither. */
      readonly problems: readonly DefinitionProblem[];
    };

/**
 * Reads what a file of the kind `what`, such as `definition`, holds.
 *
 * @param file named in problems; one that ends in `.json` has to be JSON
 */
export async function readDocument(
  text: string,
  { file, what }: { readonly file: string; readonly what: string },
): Promise<ReadDocument> {
  const syntax = file.toLowerCase().endsWith(".json") ? jsonSyntaxProblem(text) : undefined;
  if (syntax !== undefined) return { ok: false, problems: [{ ...syntax, file }] };
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const positions = new PositionFinder(document, lines);
  const refused = (message: string, offset: number): DefinitionProblem => {
    return { path: [], message, file, ...positions.at(offset) };
  };
  const refuse = (faults: readonly YamlFault[]): ReadDocument => {
    return {
      ok: false,
      problems: faults.map((fault) => refused(`YAML: ${fault.what}`, fault.offset)),
    };
  };
  const faults = yamlFaults(document, yaml.visit, what);
  if (faults.length > 0) return refuse(faults);
  if (document.contents === null) {
    const message = `expected ${/^[aeiou]/.test(what) ? "an" : "a"} ${what}, but the file is empty`;
    return { ok: false, problems: [refused(message, 0)] };
  }
  const plain = toPlain(document);
  if ("fault" in plain) return refuse([plain.fault]);
  return {
    ok: true,
    written: plain.value,
    placed: (problems) =>
      problems
        .map((problem) => ({ ...problem, file, ...positions.of(problem) }))
        .toSorted((a, b) => a.line - b.line || a.column - b.column),
  };
}
