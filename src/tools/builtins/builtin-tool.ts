import { defineTool, type StatelessToolOptions } from "../../definition/define-tool.ts";
import type { StatelessTool } from "../../definition/tool.ts";

/** A tool that comes with this package. */
export function builtinTool<Input>(
  options: { readonly name: string } & StatelessToolOptions<Input>,
): StatelessTool {
  const tool = defineTool(options);
  return Object.freeze({
    ...tool,
    definition: Object.freeze({ ...tool.definition, is_builtin: true }),
  });
}
