import type { z } from "zod";
import { checkFromZod } from "../../definition/json-schema.ts";
import type { StatelessTool, ToolContext } from "../../definition/tool.ts";
import type { Awaitable } from "../../state/agent-state.ts";

/** A tool of this package: stateless, with the default limits, its input typed by its schema. */
export function builtinTool<Input>(options: {
  name: string;
  displayName: string;
  description: string;
  input: z.ZodType<Input>;
  run(input: Input, context: ToolContext): Awaitable<unknown>;
}): StatelessTool {
  const input = checkFromZod(options.input);
  return {
    kind: "stateless",
    definition: {
      name: options.name,
      display_name: options.displayName,
      description: options.description,
      input_schema: input.jsonSchema,
      execution: { timeout_ms: 30_000, max_result_bytes: 262_144 },
      persistence: "none",
      version: "1.0.0",
      is_builtin: true,
    },
    input,
    run: (checked, context) => options.run(checked as Input, context),
  };
}
