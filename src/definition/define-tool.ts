import { z } from "zod";
import { StratagraphError } from "../errors.ts";
import type { AgentState, Awaitable, ToolReducerHandler } from "../state/agent-state.ts";
import { tryCompile } from "./check-definition.ts";
import { checkFromZod, type JsonSchema, type SchemaCheck } from "./json-schema.ts";
import { nearestName } from "./nearest-name.ts";
import type {
  AgentTool,
  StatefulTool,
  StatelessTool,
  ToolContext,
  ToolDefinition,
  ToolExecution,
} from "./tool.ts";

/** A tool is not defined as it has to be. */
export class InvalidToolError extends StratagraphError {
  readonly code = "invalid_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Tool "${tool}": ${problem}.`);
  }
}

/** A zod schema of an object, or the same as JSON Schema; only the first types the handler's input. */
export type ToolSchema<Value> = z.ZodType<Value> | JsonSchema;

interface ToolOptionsBase<Input> {
  readonly display_name?: string;
  /** What the model reads to decide when to call it. */
  readonly description: string;
  readonly input_schema: ToolSchema<Input>;
  readonly output_schema?: ToolSchema<unknown>;
  readonly execution?: Partial<ToolExecution>;
  /** Semantic version. Default 1.0.0. */
  readonly version?: string;
}

export interface StatelessToolOptions<Input> extends ToolOptionsBase<Input> {
  readonly persistence?: "none";
  readonly handler: (input: Input, context: ToolContext) => unknown;
}

export interface StatefulToolOptions<Exec, Attempt, Input> extends ToolOptionsBase<Input> {
  /** The tier that the handler writes. */
  readonly persistence: "execution" | "attempt";
  readonly handler: (
    ...args: [...Parameters<ToolReducerHandler<Exec, Attempt, Input>>, context: ToolContext]
  ) => ReturnType<ToolReducerHandler<Exec, Attempt, Input>>;
}

/** What the model is told of the tier that a tool writes. */
const persistenceNotes = {
  execution: "(persists across retries)",
  attempt: "(reset on retry)",
} as const;

const defaultExecution: ToolExecution = Object.freeze({
  timeout_ms: 30_000,
  max_result_bytes: 262_144,
});

/**
 * Makes a tool from a TypeScript function. Without state, the handler gets the checked input; with `persistence` set,
 * it is a {@link ToolReducerHandler}: it gets frozen state first and returns the new state.
 *
 * @throws InvalidToolError
 * @example
 * const weather = defineTool({
 *   name: "weather",
 *   description: "Gives today's weather in a city.",
 *   input_schema: z.object({ city: z.string() }),
 *   handler: ({ city }) => `Sunny in ${city}.`,
 * });
 */
export function defineTool<Input>(
  options: { readonly name: string } & StatelessToolOptions<Input>,
): StatelessTool;
export function defineTool<Exec, Attempt, Input>(
  options: { readonly name: string } & StatefulToolOptions<Exec, Attempt, Input>,
): StatefulTool;
export function defineTool(options: { readonly name: string } & AnyToolOptions): AgentTool {
  const { name, handler } = options;
  checkOptions(name, options);
  const input = toCheck(name, "input_schema", options.input_schema);
  const output = options.output_schema && toCheck(name, "output_schema", options.output_schema);
  const persistence = options.persistence ?? "none";
  const note = persistence === "none" ? "" : ` ${persistenceNotes[persistence]}`;
  const definition: ToolDefinition = Object.freeze({
    name,
    ...(options.display_name !== undefined && { display_name: options.display_name }),
    description: options.description + note,
    input_schema: input.jsonSchema,
    ...(output && { output_schema: output.jsonSchema }),
    execution: Object.freeze({ ...defaultExecution, ...options.execution }),
    persistence,
    version: options.version ?? "1.0.0",
    is_builtin: false,
  });
  const base = { definition, input, ...(output && { output }) };
  if (persistence === "none") {
    const run = handler as StatelessTool["run"];
    return Object.freeze({ ...base, kind: "stateless", run });
  }
  const reduce = handler as StatefulTool["reduce"];
  return Object.freeze({ ...base, kind: "stateful", reduce });
}

/** Either kind, as the implementation sees it. */
type AnyToolOptions = ToolOptionsBase<unknown> & {
  readonly persistence?: "none" | "execution" | "attempt";
  readonly handler: (...args: never[]) => Awaitable<unknown>;
};

/** What {@link defineAgent} takes for a tool: the options without the name. */
export type InlineToolOptions<Exec, Attempt, Input> =
  StatefulToolOptions<Exec, Attempt, Input> | StatelessToolOptions<Input>;

/** Makes a tool from options whose kind is known only at run time. */
export function defineInlineTool(
  name: string,
  options: InlineToolOptions<never, never, never>,
): AgentTool {
  return defineTool({ ...options, name } as unknown as { name: string } & StatefulToolOptions<
    AgentState,
    AgentState,
    unknown
  >);
}

const optionNames = [
  "name",
  "display_name",
  "description",
  "input_schema",
  "output_schema",
  "execution",
  "version",
  "persistence",
  "handler",
];

function checkOptions(name: string, options: AnyToolOptions): void {
  const refuse = (problem: string) => new InvalidToolError(String(name), problem);
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw refuse("a name has 1 to 64 letters, digits, _ and -");
  }
  refuseUnknown(Object.keys(options), optionNames, refuse);
  if (typeof options.description !== "string" || options.description.trim() === "") {
    throw refuse("the description is empty; the model chooses tools by it");
  }
  if (typeof options.handler !== "function") throw refuse("the handler is not a function");
  const { persistence } = options;
  if (persistence !== undefined && !["none", "execution", "attempt"].includes(persistence)) {
    throw refuse(`persistence is none, execution or attempt, not ${JSON.stringify(persistence)}`);
  }
  const execution = options.execution ?? {};
  refuseUnknown(Object.keys(execution), Object.keys(defaultExecution), refuse);
  for (const [key, value] of Object.entries(execution)) {
    if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
      throw refuse(`execution.${key} has to be a number over 0, not ${String(value)}`);
    }
  }
}

function refuseUnknown(
  keys: readonly string[],
  allowed: readonly string[],
  refuse: (problem: string) => InvalidToolError,
): void {
  const unknown = keys.find((key) => !allowed.includes(key));
  if (unknown === undefined) return;
  const near = nearestName(unknown, allowed);
  const meant = near === undefined ? "" : `; did you mean "${near}"?`;
  throw refuse(`unknown option "${unknown}" (allowed: ${allowed.join(", ")}${meant})`);
}

/** @throws InvalidToolError for a schema that cannot be checked or is not one of an object */
export function toCheck(
  name: string,
  key: "input_schema" | "output_schema",
  schema: ToolSchema<unknown>,
): SchemaCheck {
  if (typeof schema !== "object" || schema === null) {
    throw new InvalidToolError(name, `${key} has to be a zod schema or a JSON Schema`);
  }
  const check = isZod(schema) ? zodCheck(name, key, schema) : jsonSchemaCheck(name, key, schema);
  if (key === "input_schema" && check.jsonSchema["type"] !== "object") {
    throw new InvalidToolError(name, `${key} has to describe an object`);
  }
  return check;
}

function zodCheck(name: string, key: string, schema: z.ZodType): SchemaCheck {
  try {
    return checkFromZod(schema);
  } catch (thrown) {
    throw new InvalidToolError(
      name,
      `${key} cannot be shown as JSON Schema (${thrown instanceof Error ? thrown.message : "?"})`,
    );
  }
}

function jsonSchemaCheck(name: string, key: string, schema: JsonSchema): SchemaCheck {
  const compiled = tryCompile(schema);
  if ("check" in compiled) return compiled.check;
  throw new InvalidToolError(name, `${key} cannot be checked: ${compiled.problem}`);
}

export function isZod(schema: object): schema is z.ZodType {
  return "_zod" in schema;
}
