import type { DefinitionPath, DefinitionProblem } from "./problems.ts";
import { valueAt } from "./value-at.ts";

interface Unsupported {
  readonly path: DefinitionPath;
  /** Whether what is written at `path` asks for what is not there yet. */
  readonly asks: (written: unknown) => boolean;
  readonly instead: string;
}

const isOn = (written: unknown) => written === true;

/** What the schema knows and this version does not run. */
const unsupported: readonly Unsupported[] = [
  { path: ["memory_config", "long_term", "enabled"], asks: isOn, instead: "set it to false" },
  { path: ["memory_config", "procedural", "enabled"], asks: isOn, instead: "set it to false" },
];

/** What a definition, as it was written, asks for and would not get. */
export function unsupportedProblems(written: unknown): readonly DefinitionProblem[] {
  return unsupported
    .filter(({ path, asks }) => asks(valueAt(written, path)))
    .map(({ path, instead }) => ({ path, message: `not run by this version; ${instead}` }));
}
