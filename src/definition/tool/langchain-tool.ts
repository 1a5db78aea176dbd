import { createRequire } from "node:module";
import type { z } from "zod";
import { errorMessage } from "../../errors.ts";
import { defineForeignTool, InvalidToolError, isZod, isZod3 } from "./define-tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { AgentTool } from "./tool.ts";

/** The members used of a LangChain `tool()` or `StructuredTool`. */
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
 * Wraps a LangChain tool as a stateless tool. Its schema validates the input, and it receives the call's signal.
 * @throws InvalidToolError
 */
export function fromLangChainTool(tool: LangChainTool): AgentTool {
  const made = defineForeignTool({
    name: tool.name,
    description: tool.description,
    input_schema: inputSchema(tool),
    handler: async (input, { signal }) => contentOf(await tool.invoke(input as never, { signal })),
  });
  // The tool parses its input itself: schema transforms must not apply twice.
  const check = (value: unknown) => {
    const checked = made.input.check(value);
    return checked.ok ? { ok: true as const, value } : checked;
  };
  return Object.freeze({ ...made, input: { jsonSchema: made.input.jsonSchema, check } });
}

function inputSchema({ name, schema }: LangChainTool): z.ZodType | JsonSchema {
  if (typeof schema !== "object" || schema === null) return anyObject;
  if (isZod(schema)) return schema;
  if (!isZod3(schema)) return schema as JsonSchema;
  try {
    return zod3ToJsonSchema(schema);
  } catch (thrown) {
    throw new InvalidToolError(
      name,
      `its zod 3 schema cannot be shown as JSON Schema (${errorMessage(thrown)})`,
    );
  }
}

const anyObject: JsonSchema = { type: "object", properties: {} };

/** Loads LangChain's converter lazily: zod 3 is rare, and the converter is slow to load. */
function zod3ToJsonSchema(schema: object): JsonSchema {
  const load = createRequire(import.meta.url);
  const { toJsonSchema } = load("@langchain/core/utils/json_schema") as {
    toJsonSchema: (schema: object) => JsonSchema;
  };
  return toJsonSchema(schema);
}

/** Returns the content of a result that is a tool message; other results are returned unchanged. */
function contentOf(result: unknown): unknown {
  const message = result as {
    lc_direct_tool_output?: unknown;
    content?: unknown;
    status?: unknown;
  };
  if (typeof message !== "object" || message?.lc_direct_tool_output !== true) return result;
  if (!("content" in message)) {
    throw new TypeError("The tool returned a LangGraph command; only content can be used here.");
  }
  if (message.status === "error") throw new Error(String(message.content));
  return message.content;
}
