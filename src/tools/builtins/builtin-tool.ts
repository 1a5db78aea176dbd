import { defineTool, type StatelessToolOptions } from "../../definition/tool/define-tool.ts";
import type { StatelessTool } from "../../definition/tool/tool.ts";

/** A tool that comes with this package. They read and change nothing, so that a call may be made again. */
export function builtinTool<Input>(
  options: { readonly name: string } & StatelessToolOptions<Input>,
): StatelessTool {
  const execution = { ...options.execution, idempotent: true };
  const tool = defineTool({ ...options, execution });
  return Object.freeze({
    ...tool,
    definition: Object.freeze({ ...tool.definition, transport, is_builtin: true }),
  });
}

const transport = Object.freeze({ type: "builtin" });
