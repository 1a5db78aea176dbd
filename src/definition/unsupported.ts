import type { DefinitionPath, DefinitionProblem } from "./problems.ts";
import { valueAt } from "./value-at.ts";

interface Unsupported {
  readonly path: DefinitionPath;
  /** Whether what is written at `path` asks for what is not there yet. */
  readonly asks: (written: unknown) => boolean;
  readonly instead: string;
}

const isOn = (written: unknown) => written === true;
const hasEntries = (written: unknown) => Array.isArray(written) && written.length > 0;

/** What the schema knows and this version does not run. */
const unsupported: readonly Unsupported[] = [
  { path: ["memory_config", "long_term", "enabled"], asks: isOn, instead: "set it to false" },
  { path: ["memory_config", "procedural", "enabled"], asks: isOn, instead: "set it to false" },
  {
    path: ["guardrail_config", "input_rails"],
    asks: hasEntries,
    instead: "leave them out, tool_rails are run",
  },
  {
    path: ["guardrail_config", "output_rails"],
    asks: hasEntries,
    instead: "leave them out and check outputs with output_schema and validate",
  },
];

/** What a definition, as it was written, asks for and would not get. */
export function unsupportedProblems(written: unknown): readonly DefinitionProblem[] {
  const problems = unsupported
    .filter(({ path, asks }) => asks(valueAt(written, path)))
    .map(({ path, instead }) => ({ path, message: `not run by this version; ${instead}` }));
  const tools = valueAt(written, ["tools"]);
  const servers = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) =>
    valueAt(tool, ["mcp"]) === undefined
      ? []
      : [
          {
            path: ["tools", index],
            message: "MCP servers are not run by this version; name tools of the registry",
          },
        ],
  );
  return [...problems, ...servers];
}
