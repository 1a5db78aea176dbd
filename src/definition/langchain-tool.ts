import { z } from "zod";
import { defineTool, isZod } from "./define-tool.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { AgentTool } from "./tool.ts";

/** What is used of a LangChain `tool()` or `StructuredTool`. */
export interface LangChainTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  invoke(input: never, config?: { signal?: AbortSignal }): Promise<unknown>;
}

export function isLangChainTool(value: unknown): value is LangChainTool {
  const tool = value as Partial<LangChainTool> | null;
  return (
    typeof tool === "object" &&
    tool !== null &&
    typeof tool.invoke === "function" &&
    typeof tool.name === "string" &&
    "schema" in tool
  );
}

/**
 * A LangChain tool as a stateless tool of ours: its schema checks the input, the call's signal reaches it.
 * @throws InvalidToolError
 */
export function fromLangChainTool(tool: LangChainTool): AgentTool {
  const { schema } = tool;
  const input_schema: z.ZodType | JsonSchema =
    typeof schema === "object" && schema !== null
      ? isZod(schema)
        ? schema
        : jsonSchemaOf(schema)
      : {};
  return defineTool({
    name: tool.name,
    description: tool.description,
    input_schema: input_schema as JsonSchema,
    handler: (input, { signal }) => tool.invoke(input as never, { signal }),
  });
}

/** JSON Schema as it is; a zod 3 schema takes anything here, since the tool itself parses its input. */
function jsonSchemaOf(schema: object): JsonSchema {
  return "_def" in schema ? { type: "object", properties: {} } : (schema as JsonSchema);
}
