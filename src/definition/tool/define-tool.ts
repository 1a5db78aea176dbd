import { z } from "zod";
import { errorMessage } from "../../errors.ts";
import type { AgentState, Awaitable, ToolReducerHandler } from "../../state/tiers.ts";
import { deepFreeze } from "../../values/json.ts";
import { tryCompileSchema } from "../check/check-definition.ts";
import { checkToolOptions, InvalidToolError } from "./tool-options.ts";
import { functionSource } from "../function-source.ts";
import { checkFromZod, type JsonSchema, type SchemaCheck } from "../schema/json-schema.ts";
import { showFound } from "../check/problems.ts";
import {
  type AgentTool,
  type StatefulTool,
  type StatelessTool,
  type ToolContext,
  type ToolDefinition,
  resolveClientExecution,
  resolveToolExecution,
  type ToolExecutionOptions,
  type TierKey,
  type ToolPermission,
  type ToolPersistence,
} from "./tool.ts";

export { InvalidToolError };

/** An object schema in zod or JSON Schema; only zod types the handler's input. */
export type ToolSchema<Value> = z.ZodType<Value> | JsonSchema;

interface ToolOptionsBase<Input> {
  readonly display_name?: string;
  /** Tells the model when to call the tool. */
  readonly description: string;
  readonly input_schema: ToolSchema<Input>;
  readonly output_schema?: ToolSchema<unknown>;
  readonly execution?: ToolExecutionOptions;
  /** Permissions that an agent needs, such as `file:read`. `required: false` only documents one. Default none. */
  readonly permissions?: readonly (string | ToolPermission)[];
  /** Whether a person must approve every call. Default false. */
  readonly requires_approval?: boolean;
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
  /**
   * The only keys that the handler changes, such as `["execution.pages", "attempt.cursor"]`. If they are of both tiers,
   * the description says which of them survive a failed attempt. Default: any keys of the tiers that it may write.
   */
  readonly writes?: readonly TierKey[];
  readonly handler: (
    ...args: [...Parameters<ToolReducerHandler<Exec, Attempt, Input>>, context: ToolContext]
  ) => ReturnType<ToolReducerHandler<Exec, Attempt, Input>>;
}

/** A tool that the caller of the run runs. It has no handler, and its calls come out of the run. */
export interface ClientToolOptions<Input> extends Omit<ToolOptionsBase<Input>, "execution"> {
  readonly transport: { readonly type: "client" };
  /** `timeout_ms` is how long a run waits for the result of a call. Default 86,400,000, which is a day. */
  readonly execution?: Pick<ToolExecutionOptions, "timeout_ms" | "max_result_bytes" | "repeatable">;
}

/** Returns the description of the tier that a tool writes, for the model; of both tiers if it declares keys of both. */
function persistenceNote(persistence: ToolPersistence, writes: readonly TierKey[] = []): string {
  if (persistence === "none") return "";
  if (persistence === "attempt") return " (reset on retry)";
  const keysOf = (tier: string) =>
    writes.filter((key) => key.startsWith(tier)).map((key) => key.slice(tier.length));
  const [kept, reset] = [keysOf("execution."), keysOf("attempt.")];
  if (kept.length === 0 || reset.length === 0) return " (persists across retries)";
  return ` (persists across retries: ${kept.join(", ")}; reset on retry: ${reset.join(", ")})`;
}

/**
 * Makes a tool from a TypeScript function. The handler of a stateless tool gets the validated input. With `persistence`
 * set it is a {@link ToolReducerHandler}: it also gets the frozen state, first, and returns the new state. With
 * `transport: { type: "client" }` there is no handler: the run waits for the caller's result.
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
  options: { readonly name: string } & ClientToolOptions<Input>,
): StatelessTool;
export function defineTool<Input>(
  options: { readonly name: string } & StatelessToolOptions<Input>,
): StatelessTool;
export function defineTool<Exec, Attempt, Input>(
  options: { readonly name: string } & StatefulToolOptions<Exec, Attempt, Input>,
): StatefulTool;
export function defineTool(options: { readonly name: string } & AnyToolOptions): AgentTool {
  return makeTool(options, false);
}

/** Makes a tool whose handler validates its input itself, including patterns that cannot be matched in linear time. */
export function defineForeignTool(
  options: { readonly name: string } & StatelessToolOptions<unknown>,
): AgentTool {
  return makeTool(options, true);
}

function makeTool(
  options: { readonly name: string } & AnyToolOptions,
  takesAnyPattern: boolean,
): AgentTool {
  checkToolOptions(options);
  const { name, handler } = options;
  const checkOf = (key: "input_schema" | "output_schema", schema: ToolSchema<unknown>) =>
    toCheck({ name, key, takesAnyPattern }, schema);
  const input = checkOf("input_schema", options.input_schema);
  const output = options.output_schema && checkOf("output_schema", options.output_schema);
  const { persistence = "none", writes } = options;
  const definition: ToolDefinition = Object.freeze({
    name,
    ...(options.display_name !== undefined && { display_name: options.display_name }),
    description: options.description + persistenceNote(persistence, writes),
    input_schema: input.jsonSchema,
    ...(output && { output_schema: output.jsonSchema }),
    transport: handler === undefined ? clientTransport : functionTransport,
    execution: (handler === undefined ? resolveClientExecution : resolveToolExecution)(
      options.execution,
    ),
    permissions: (options.permissions ?? []).map(toPermission),
    persistence,
    ...(writes !== undefined && { writes: Object.freeze([...writes]) }),
    requires_approval: options.requires_approval ?? false,
    version: options.version ?? "1.0.0",
    is_builtin: false,
  });
  const base = { definition, input, ...(output && { output }) };
  if (handler === undefined) return Object.freeze({ ...base, kind: "stateless", run: noHandler });
  if (persistence === "none") {
    const run: StatelessTool["run"] = handler;
    const source = definition.execution.sandbox ? functionSource(handler) : undefined;
    return Object.freeze({
      ...base,
      kind: "stateless",
      ...(source?.ok && { source: source.source }),
      run,
    });
  }
  const reduce = handler as StatefulTool["reduce"];
  return Object.freeze({ ...base, kind: "stateful", reduce });
}

/** Options of either kind of tool, for the implementation. */
type AnyToolOptions = ToolOptionsBase<unknown> & {
  readonly persistence?: ToolPersistence;
  readonly writes?: readonly TierKey[];
  readonly transport?: { readonly type: "client" };
  readonly handler?: (...args: never[]) => Awaitable<unknown>;
};

/** The handler of a client tool, outside of a run. */
function noHandler(): never {
  throw new TypeError("it is a client tool: the caller of a run runs it");
}

/** The options of a tool without its name, as {@link defineAgent} takes them. */
export type InlineToolOptions<Exec, Attempt, Input> =
  | StatefulToolOptions<Exec, Attempt, Input>
  | StatelessToolOptions<Input>;

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

const functionTransport = Object.freeze({ type: "function" });
const clientTransport = Object.freeze({ type: "client" });

function toPermission(given: string | ToolPermission): ToolPermission {
  const { name, required = true } = typeof given === "string" ? { name: given } : given;
  return Object.freeze({ name, required });
}

interface SchemaPlace {
  readonly name: string;
  readonly key: "input_schema" | "output_schema";
  readonly takesAnyPattern: boolean;
}

/** @throws InvalidToolError for a schema that cannot be checked or does not describe an object */
function toCheck(place: SchemaPlace, schema: ToolSchema<unknown>): SchemaCheck {
  const { name, key } = place;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    const found = showFound(schema);
    throw new InvalidToolError(name, `${key} must be a zod schema or a JSON Schema, not ${found}`);
  }
  if (isZod3(schema)) {
    throw new InvalidToolError(
      name,
      `${key} is a schema of zod 3; zod 4 and JSON Schema are taken`,
    );
  }
  const check = isZod(schema) ? zodCheck(name, key, schema) : jsonSchemaCheck(place, schema);
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
      `${key} cannot be shown as JSON Schema (${errorMessage(thrown)})`,
    );
  }
}

function jsonSchemaCheck(
  { name, key, takesAnyPattern }: SchemaPlace,
  schema: JsonSchema,
): SchemaCheck {
  const compiled = tryCompileSchema(copyOf(schema));
  if (!("check" in compiled)) {
    throw new InvalidToolError(name, `${key} cannot be checked: ${compiled.problem}`);
  }
  const [unmatched] = compiled.check.uncheckedPatterns;
  if (unmatched === undefined || takesAnyPattern) return compiled.check;
  throw new InvalidToolError(name, `${key} cannot be checked: ${unmatched}`);
}

/** Returns a frozen copy, so that the caller's object is neither frozen nor able to change the tool later. */
function copyOf(schema: JsonSchema): JsonSchema {
  try {
    return deepFreeze(JSON.parse(JSON.stringify(schema)) as JsonSchema);
  } catch {
    // Compiling reports the reason for a value that is not JSON.
    return schema;
  }
}

export function isZod(schema: object): schema is z.ZodType {
  return "_zod" in schema;
}

export function isZod3(schema: object): boolean {
  return "_def" in schema && !isZod(schema);
}
