import type { z } from "zod";
import type { AgentState } from "../state/agent-state.ts";
import type { AgentBehaviour, AgentDefinition } from "./agent-definition.ts";
import { buildDefinition } from "./build-definition.ts";
import { checkDefinition } from "./check-definition.ts";
import { defineInlineTool, isZod, type InlineToolOptions } from "./define-tool.ts";
import { checkFromZod, type JsonSchema, type SchemaCheck } from "./json-schema.ts";
import { fromLangChainTool, isLangChainTool, type LangChainTool } from "./langchain-tool.ts";
import { InvalidDefinitionError } from "./problems.ts";
import type { AgentSpecInput } from "./schema.ts";
import type { AgentTool } from "./tool.ts";

/** The default input and output. */
interface Message {
  message: string;
}

/** A name of the tool registry, a tool of `defineTool`, or a LangChain tool. */
export type ToolReference = string | AgentTool | LangChainTool;

export interface AgentOptions<Input, Output, Exec, Attempt, Tools> extends Omit<
  AgentSpecInput,
  "input_schema" | "output_schema" | "tools"
> {
  /** Default: `{ message: string }`. */
  readonly input_schema?: z.ZodType<Input> | JsonSchema;
  /** Default: `{ message: string }`; anything else makes the model answer in JSON. */
  readonly output_schema?: z.ZodType<Output> | JsonSchema;
  /** Checks every new execution state. */
  readonly execution_schema?: z.ZodType<Exec>;
  /** Checks every new attempt state. */
  readonly attempt_schema?: z.ZodType<Attempt>;
  /** Tier 1, once a turn. Default `{}`. */
  readonly initialExecutionState?: (input: Input) => Exec;
  /** Tier 2, before every attempt; sees tier 1 as the failed attempt left it. Default `{}`. */
  readonly initialAttemptState?: (
    input: Input,
    execution: NoInfer<Exec>,
    attemptNumber: number,
  ) => Attempt;
  /**
   * A list of tools and names; or a map from names to tools defined here, whose handlers are typed from the
   * initialisers.
   */
  readonly tools?:
    | readonly ToolReference[]
    | {
        readonly [Name in keyof Tools]: InlineToolOptions<
          NoInfer<Exec>,
          NoInfer<Attempt>,
          Tools[Name]
        >;
      };
  /** Tools and names beside a map in `tools`. */
  readonly otherTools?: readonly ToolReference[];
  /** Reasons why an output that fits its schema is not good enough. None, or nothing, accepts it. */
  readonly validate?: (
    output: Output,
    state: AgentState<NoInfer<Exec>, NoInfer<Attempt>>,
  ) => ReturnType<NonNullable<AgentBehaviour<unknown, unknown, unknown, unknown>["validate"]>>;
}

/**
 * Defines an agent in TypeScript, checked at once. Everything but the code is what a YAML definition has, under the
 * same names.
 *
 * @throws InvalidDefinitionError with every problem; InvalidToolError
 * @example
 * const agent = defineAgent({ name: "calculator", tools: ["calculator"] });
 */
export function defineAgent<
  Input = Message,
  Output = Message,
  Exec = Record<string, unknown>,
  Attempt = Record<string, unknown>,
  Tools extends Record<string, unknown> = Record<string, never>,
>(
  options: AgentOptions<Input, Output, Exec, Attempt, Tools>,
): AgentDefinition<Input, Output, Exec, Attempt> {
  const {
    input_schema,
    output_schema,
    execution_schema,
    attempt_schema,
    initialExecutionState,
    initialAttemptState,
    validate,
    tools: given,
    otherTools = [],
    ...written
  } = options;
  const own = readTools(given);
  const other = readTools(otherTools);
  const names = [...own.names, ...other.names];
  const tools = [...own.tools, ...other.tools];
  const input = fromZod(input_schema);
  const output = fromZod(output_schema);
  const checked = checkDefinition({
    ...written,
    ...(input_schema !== undefined && { input_schema: input?.jsonSchema ?? input_schema }),
    ...(output_schema !== undefined && { output_schema: output?.jsonSchema ?? output_schema }),
    tools: names,
  });
  if (!checked.ok) throw new InvalidDefinitionError(checked.problems);
  const behaviour = {
    ...(initialExecutionState && { initialExecutionState }),
    ...(initialAttemptState && { initialAttemptState }),
    ...(validate && { validate }),
    ...(execution_schema && { executionSchema: checkFromZod(execution_schema) }),
    ...(attempt_schema && { attemptSchema: checkFromZod(attempt_schema) }),
  } as AgentBehaviour<unknown, unknown, unknown, unknown>;
  const definition = buildDefinition({
    spec: checked.spec,
    ...(input && { input }),
    ...(output && { output }),
    tools,
    behaviour,
  });
  return definition as AgentDefinition<Input, Output, Exec, Attempt>;
}

/** The names that the definition lists, and the tools that came with their code. */
function readTools(given: unknown): {
  readonly names: readonly unknown[];
  readonly tools: readonly AgentTool[];
} {
  if (given === undefined) return { names: [], tools: [] };
  if (Array.isArray(given)) {
    const tools = (given as unknown[]).map((tool) =>
      isLangChainTool(tool) ? fromLangChainTool(tool) : tool,
    );
    return {
      names: tools.map((tool) => (isAgentTool(tool) ? tool.definition.name : tool)),
      tools: tools.filter(isAgentTool),
    };
  }
  if (typeof given !== "object" || given === null) return { names: [given], tools: [] };
  const entries = Object.entries(given as Record<string, InlineToolOptions<never, never, never>>);
  return {
    names: entries.map(([name]) => name),
    tools: entries.map(([name, options]) => defineInlineTool(name, options)),
  };
}

function isAgentTool(value: unknown): value is AgentTool {
  const tool = value as Partial<AgentTool> | null;
  return typeof tool === "object" && tool !== null && tool.definition !== undefined;
}

function fromZod(schema: z.ZodType | JsonSchema | undefined): SchemaCheck | undefined {
  return schema !== undefined && isZod(schema) ? checkFromZod(schema) : undefined;
}
