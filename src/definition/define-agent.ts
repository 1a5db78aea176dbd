import { z } from "zod";
import { errorMessage } from "../errors.ts";
import type { AgentState, JsonOf } from "../state/tiers.ts";
import type { AgentBehaviour, AgentDefinition } from "./agent-definition.ts";
import {
  inlineAgentProblems,
  inlineRailProblems,
  inlineWorkerProblems,
  isAgentDefinition,
  agentsByName,
  splitTools,
} from "./inline.ts";
import { buildDefinition } from "./build-definition.ts";
import { checkDefinition } from "./check/check-definition.ts";
import {
  type ClientToolOptions,
  isZod,
  isZod3,
  type InlineToolOptions,
} from "./tool/define-tool.ts";
import {
  checkFromZod,
  type JsonSchema,
  mergeProblems,
  type SchemaCheck,
} from "./schema/json-schema.ts";
import type { LangChainTool } from "./tool/langchain-tool.ts";
import { nearestName } from "../nearest-name.ts";
import { InvalidDefinitionError, showFound, type DefinitionProblem } from "./check/problems.ts";
import type { Rail } from "./rail.ts";
import type { AgentSpecInput } from "./schema/agent.ts";
import type { DataToolSpecInput } from "./schema/data-tools.ts";
import type { CommunitySpecInput, ServerSpecInput } from "./schema/servers.ts";
import type { AgentTool } from "./tool/tool.ts";
import { findNestedToolNames } from "./check/agents.ts";
import type { CodeWorker } from "./worker.ts";

/** The default input and output. */
interface Message {
  message: string;
}

/** An MCP server that provides tools. */
export interface ServerReference {
  readonly mcp: ServerSpecInput;
}

/** A tool of `@langchain/community`. */
export interface CommunityReference {
  readonly community: CommunitySpecInput;
}

/** A tool that the caller of the run runs, as `defineTool` takes it. */
export type ClientToolReference = { readonly name: string } & ClientToolOptions<unknown>;

/**
 * A registered tool's name, a tool of `defineTool`, a LangChain tool, an MCP server, a LangChain community tool, or a tool
 * as data, whose calls are HTTP requests or are made by the caller.
 */
export type ToolReference =
  | string
  | AgentTool
  | LangChainTool
  | ServerReference
  | CommunityReference
  | ClientToolReference
  | DataToolSpecInput;

export interface AgentOptions<Input, Output, Exec, Attempt, Tools> extends Omit<
  AgentSpecInput,
  "input_schema" | "output_schema" | "tools"
> {
  /** Default: `{ message: string }`. */
  readonly input_schema?: z.ZodType<Input> | JsonSchema;
  /** Default: `{ message: string }`; with any other schema the model answers in JSON. */
  readonly output_schema?: z.ZodType<Output> | JsonSchema;
  /** Validates every new execution state. */
  readonly execution_schema?: z.ZodType<Exec>;
  /** Validates every new attempt state. */
  readonly attempt_schema?: z.ZodType<Attempt>;
  /** Creates tier 1 once a turn: plain JSON, which is copied. Default `{}`. */
  readonly initialExecutionState?: (input: Input) => Exec & JsonOf<NoInfer<Exec>>;
  /**
   * Creates tier 2 before every attempt, also as plain JSON, from tier 1 as the failed attempt left it. Default `{}`.
   */
  readonly initialAttemptState?: (
    input: Input,
    execution: NoInfer<Exec>,
    attemptNumber: number,
  ) => Attempt & JsonOf<NoInfer<Attempt>>;
  /**
   * A list of tools and names, or a map from names to tools defined inline. The initialisers determine the types of
   * inline handlers.
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
  /** Tools and names in addition to a map in `tools`. */
  readonly otherTools?: readonly ToolReference[];
  /** Agents that workflow nodes may name; they take precedence over those of the runtime. */
  readonly agents?: readonly AgentDefinition[];
  /** Code workers of `defineWorker` that planner nodes may name; they take precedence over agents of the runtime. */
  readonly workers?: readonly CodeWorker[];
  /** Rails of `defineRail` that `guardrail_config` may name; they take precedence over those of the runtime. */
  readonly rails?: readonly Rail[];
  /** Returns the reasons to reject an output that matches its schema; an empty list or undefined accepts it. */
  readonly validate?: (
    output: Output,
    state: AgentState<NoInfer<Exec>, NoInfer<Attempt>>,
  ) => ReturnType<NonNullable<AgentBehaviour<unknown, unknown, unknown, unknown>["validate"]>>;
}

/**
 * Defines an agent in TypeScript and checks it immediately. Apart from the code, the options are the keys of a YAML
 * definition.
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
  const given: unknown = options;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const found = showFound(given);
    throw new InvalidDefinitionError([
      { path: [], message: "expected the agent's options", found },
    ]);
  }
  const {
    input_schema,
    output_schema,
    execution_schema,
    attempt_schema,
    initialExecutionState,
    initialAttemptState,
    validate,
    tools: ownTools,
    otherTools = [],
    agents: ownAgents = [],
    workers: ownWorkers = [],
    rails: ownRails = [],
    ...written
  } = options;
  const own = splitTools(ownTools);
  const other = splitTools(Array.isArray(otherTools) ? otherTools : []);
  const names = [...own.names, ...other.names];
  const tools = [...own.tools, ...other.tools];
  const input = readSchema("input_schema", input_schema);
  const output = readSchema("output_schema", output_schema);
  const checked = checkDefinition(
    {
      ...written,
      ...(input.written !== undefined && { input_schema: input.written }),
      ...(output.written !== undefined && { output_schema: output.written }),
      tools: names,
    },
    {
      hasWorkers: [ownAgents, ownWorkers].flat().length > 0,
      nestedToolNames: findNestedToolNames(written, {
        agents: agentsByName([ownAgents].flat().filter(isAgentDefinition)),
        workers: [ownWorkers].flat(),
      }),
      zodSchemas: new Set([
        ...(input.check === undefined ? [] : ["input_schema"]),
        ...(output.check === undefined ? [] : ["output_schema"]),
      ]),
    },
  );
  const problems = [
    ...(checked.ok ? [] : checked.problems.map(withCodeOptions)),
    ...input.problems,
    ...output.problems,
    ...codeProblems(options),
    ...inlineAgentProblems(written, {
      spec: checked.ok ? checked.spec : null,
      agents: ownAgents,
    }),
    ...inlineWorkerProblems(ownWorkers, ownAgents),
    ...inlineRailProblems(written, ownRails),
  ];
  if (!checked.ok || problems.length > 0) throw new InvalidDefinitionError(problems);
  const execution = execution_schema && checkOfState(execution_schema);
  const attempt = attempt_schema && checkOfState(attempt_schema);
  const merges = mergeProblems(checked.spec.state_config.merge, {
    ...(execution && { execution: execution.jsonSchema }),
    ...(attempt && { attempt: attempt.jsonSchema }),
  });
  if (merges.length > 0) throw new InvalidDefinitionError(merges);
  const behaviour = {
    ...(initialExecutionState && { initialExecutionState }),
    ...(initialAttemptState && { initialAttemptState }),
    ...(validate && { validate }),
    ...(execution && { executionSchema: execution }),
    ...(attempt && { attemptSchema: attempt }),
  } as AgentBehaviour<unknown, unknown, unknown, unknown>;
  const definition = buildDefinition({
    spec: checked.spec,
    clientTools: checked.clientTools,
    ...(input.check && { input: input.check }),
    ...(output.check && { output: output.check }),
    tools,
    agents: agentsByName(ownAgents),
    workers: ownWorkers,
    rails: ownRails,
    behaviour,
  });
  return definition as AgentDefinition<Input, Output, Exec, Attempt>;
}

interface ReadSchema {
  /** The schema as written in the definition. */
  readonly written?: unknown;
  readonly check?: SchemaCheck;
  readonly problems: readonly DefinitionProblem[];
}

function readSchema(key: string, schema: unknown): ReadSchema {
  if (typeof schema !== "object" || schema === null) return { written: schema, problems: [] };
  if (isZod3(schema)) {
    const message = "a schema of zod 3; zod 4 and JSON Schema are taken";
    return { problems: [{ path: [key], message }] };
  }
  if (!isZod(schema)) return { written: schema, problems: [] };
  try {
    const check = checkFromZod(schema);
    return { written: check.jsonSchema, check, problems: [] };
  } catch (thrown) {
    const message = `cannot be shown as JSON Schema: ${errorMessage(thrown)}`;
    return { problems: [{ path: [key], message }] };
  }
}

/**
 * Wraps a state schema. The zod schema does the checking, so it may contain checks that JSON Schema cannot represent.
 */
function checkOfState<T>(schema: z.ZodType<T>): SchemaCheck<T> {
  return checkFromZod(schema, z.toJSONSchema(schema, { unrepresentable: "any" }) as JsonSchema);
}

const functionOptions = ["initialExecutionState", "initialAttemptState", "validate"] as const;
const stateSchemaOptions = ["execution_schema", "attempt_schema"] as const;
const codeOptions = [
  ...functionOptions,
  ...stateSchemaOptions,
  "otherTools",
  "agents",
  "workers",
  "rails",
];

/** Returns the type errors of the code options, for JavaScript callers. */
function codeProblems(options: {
  readonly [
    Name in (typeof functionOptions | typeof stateSchemaOptions)[number] | "tools" | "otherTools"
  ]?: unknown;
}): readonly DefinitionProblem[] {
  const refuse = (key: string, message: string, found: unknown) => {
    return [{ path: [key], message, found: showFound(found) }];
  };
  const { tools, otherTools } = options;
  return [
    ...(tools === undefined || (typeof tools === "object" && tools !== null)
      ? []
      : refuse("tools", "expected a list, or a map of tools", tools)),
    ...(otherTools === undefined || Array.isArray(otherTools)
      ? []
      : refuse("otherTools", "expected a list", otherTools)),
    ...functionOptions.flatMap((key) =>
      options[key] === undefined || typeof options[key] === "function"
        ? []
        : refuse(key, "expected a function", options[key]),
    ),
    ...stateSchemaOptions.flatMap((key) => {
      const schema = options[key];
      const isSchema = typeof schema === "object" && schema !== null && isZod(schema);
      return schema === undefined || isSchema ? [] : refuse(key, "expected a zod schema", schema);
    }),
  ];
}

/** Adds the code options to the allowed keys of a problem at the top level. */
function withCodeOptions(problem: DefinitionProblem): DefinitionProblem {
  const { path, message, allowed } = problem;
  if (message !== "unknown key" || path.length !== 1 || allowed === undefined) return problem;
  const all = [...allowed, ...codeOptions];
  return { ...problem, allowed: all, suggestion: nearestName(String(path[0]), all) };
}
