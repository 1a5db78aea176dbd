import { errorMessage } from "../../errors.ts";
import { type AgentSpec, agentSpecSchema, splitClientTools } from "../schema/agent.ts";
import {
  checkFromJsonSchema,
  type JsonSchema,
  type JsonSchemaCheck,
} from "../schema/json-schema.ts";
import { workflowProblems } from "../workflow/problems.ts";
import { agentReferences } from "./agents.ts";
import { type ClientToolSpec, isDataTool, toolEntryName } from "../schema/data-tools.ts";
import { argumentRuleProblems } from "./expressions.ts";
import { httpTransportProblems } from "./http-tools.ts";
import { jsonSchemaProblems } from "./json-schema-problems.ts";
import { memoryProblems } from "./memory.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";
import { railConfigProblems } from "./rails.ts";
import { schemaProblems } from "./schema-problems.ts";
import { clientExecutionProblems, railProblems, serverProblems, writtenTools } from "./tools.ts";

export type CheckedDefinition =
  | {
      readonly ok: true;
      readonly spec: AgentSpec;
      /** Tools of the caller that the definition describes; `spec.tools` has their names. */
      readonly clientTools: readonly ClientToolSpec[];
    }
  | { readonly ok: false; readonly problems: readonly DefinitionProblem[] };

/** Facts about a definition that its document does not contain. */
export interface DefinitionExtras {
  /** Whether agents or code workers are bundled, for planner nodes that list none. Default false. */
  readonly hasWorkers?: boolean;
  /**
   * Tool names of nested agents, which tool rails may name; undefined if not all are known. Defaults to none if the
   * nodes name no agents, else to unknown.
   */
  readonly nestedToolNames?: readonly string[] | undefined;
  /** Keys of schemas derived from zod schemas, which validate in their place. Default none. */
  readonly zodSchemas?: ReadonlySet<string>;
}

/** Performs all checks of a written definition that do not depend on the available tools and models. */
export function checkDefinition(
  written: unknown,
  beside: DefinitionExtras = {},
): CheckedDefinition {
  const nesting = nestingProblems(written);
  if (nesting.length > 0) return { ok: false, problems: nesting };
  const parsed = agentSpecSchema.safeParse(written);
  const problems = [...schemaProblems(written), ...ruleProblems(written, beside)];
  if (problems.length > 0 || !parsed.success) return { ok: false, problems };
  // Copies the spec, plain JSON by now, so that freezing it does not freeze the caller's objects.
  return { ok: true, ...splitClientTools(JSON.parse(JSON.stringify(parsed.data)) as Parsed) };
}

type Parsed = Parameters<typeof splitClientTools>[0];

/** Checks rules that the schema cannot express, for every part of the right shape, even if other parts are invalid. */
function ruleProblems(written: unknown, beside: DefinitionExtras): readonly DefinitionProblem[] {
  const { hasWorkers = false, zodSchemas = new Set() } = beside;
  const namesAgents = agentReferences(written).length > 0;
  const inside = "nestedToolNames" in beside || namesAgents ? beside.nestedToolNames : [];
  const schemaRuleOf = (key: "input_schema" | "output_schema") =>
    schemaRule([key], getAtPath(written, [key]), zodSchemas.has(key));
  const input = schemaRuleOf("input_schema");
  const inputSchema = input.length === 0 ? inputSchemaOf(written) : {};
  const tools = writtenTools(written);
  const graph = getAtPath(written, ["workflow_graph"]);
  const merges = getAtPath(written, ["state_config", "merge"]);
  return [
    ...versionRule(["version"], written),
    ...duplicateTools(getAtPath(written, ["tools"])),
    ...input,
    ...schemaRuleOf("output_schema"),
    ...dataToolProblems(written),
    ...serverProblems(written),
    ...railConfigProblems(written),
    ...memoryProblems(written),
    ...railProblems(written, tools, inside),
    ...argumentRuleProblems(written, inputSchema),
    ...(graph === undefined
      ? []
      : workflowProblems(graph, {
          tools,
          inputSchema,
          maxIterations: getAtPath(written, ["execution_config", "max_iterations"]),
          hasWorkers,
          merged: new Set(Object.keys(isMap(merges) ? merges : {})),
        })),
  ];
}

/** Returns the input schema with its default, or an empty one if it is invalid. */
function inputSchemaOf(written: unknown): JsonSchema {
  const schema = getAtPath(written, ["input_schema"]);
  return agentSpecSchema.shape.input_schema.safeParse(schema).data ?? {};
}

/** Checks what the schema cannot express of the tools that a definition describes as data. */
function dataToolProblems(written: unknown): readonly DefinitionProblem[] {
  const tools: unknown = getAtPath(written, ["tools"]);
  return (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    if (!isMap(tool) || !isDataTool(tool)) return [];
    const path = ["tools", index];
    const { input_schema: input, output_schema: output, transport, execution } = tool;
    const schemas = [
      ...schemaRule([...path, "input_schema"], input, false),
      ...(isMap(output) ? jsonSchemaProblems(output, [...path, "output_schema"]) : []),
    ];
    const ofTransport = {
      client: () => clientExecutionProblems(execution, [...path, "execution"]),
      http: () =>
        httpTransportProblems(transport, {
          path: [...path, "transport"],
          inputSchema: schemas.length > 0 ? undefined : (input ?? {}),
        }),
    };
    const type: unknown = getAtPath(transport, ["type"]);
    return [
      ...versionRule([...path, "version"], written),
      ...schemas,
      ...(type === "client" || type === "http" ? ofTransport[type]() : []),
    ];
  });
}

function versionRule(path: DefinitionPath, written: unknown): readonly DefinitionProblem[] {
  const version = getAtPath(written, path);
  if (typeof version !== "string" || isSemanticVersion(version)) return [];
  const message = "expected a semantic version such as 1.0.0";
  return [{ path, message, found: showFound(version) }];
}

const number = String.raw`(?:0|[1-9]\d*)`;
const tag = String.raw`(?:${number}|\d*[A-Za-z-][\dA-Za-z-]*)`;
const build = String.raw`[\dA-Za-z-]+`;
/** The grammar of semantic versions, https://semver.org. */
const semanticVersion = new RegExp(
  String.raw`^${number}\.${number}\.${number}(?:-${tag}(?:\.${tag})*)?(?:\+${build}(?:\.${build})*)?$`,
);

export function isSemanticVersion(text: string): boolean {
  return text.length <= 256 && semanticVersion.test(text);
}

/** Reports tools that a list names more than once. */
export function duplicateTools(tools: unknown): readonly DefinitionProblem[] {
  if (!Array.isArray(tools)) return [];
  const first = new Map<string, number>();
  return tools.flatMap((tool: unknown, index) => {
    const name = toolEntryName(tool);
    if (name === undefined) return [];
    const earlier = first.get(name);
    if (earlier !== undefined) {
      const path = typeof tool === "string" ? ["tools", index] : ["tools", index, "name"];
      return [{ path, message: `"${name}" is already named by tools[${earlier}]` }];
    }
    first.set(name, index);
    return [];
  });
}

function schemaRule(
  path: DefinitionPath,
  schema: unknown,
  isZod: boolean,
): readonly DefinitionProblem[] {
  if (!isMap(schema)) return [];
  if (schema["type"] !== "object") {
    const found = showFound(schema["type"]);
    return [{ path: [...path, "type"], message: 'expected a JSON Schema of type "object"', found }];
  }
  return jsonSchemaProblems(schema, path, { hasOwnPatterns: isZod });
}

function isMap(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Compiles a schema into a validator, or returns the problem that prevents it. */
export function tryCompileSchema(
  schema: JsonSchema,
): { readonly check: JsonSchemaCheck } | { readonly problem: string } {
  try {
    return { check: checkFromJsonSchema(schema) };
  } catch (thrown) {
    const isForeign = thrown instanceof TypeError || thrown instanceof RangeError;
    return {
      problem: isForeign ? "a keyword has a value that it cannot have" : errorMessage(thrown),
    };
  }
}

/** Maximum nesting depth of maps and lists in a definition. */
const maxDepth = 64;

/** Reports only the nesting problem when the value is too deep to validate. */
export function nestingProblems(written: unknown): readonly DefinitionProblem[] {
  if (!isDeeperThan(written, maxDepth)) return [];
  return [{ path: [], message: `nested more than ${maxDepth} levels deep` }];
}

/** Walks level by level, so that no depth can exhaust the stack. A cyclic value counts as too deep. */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    const next = new Set<unknown>();
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const child of Object.values(one)) {
        if (typeof child === "object" && child !== null) next.add(child);
      }
    }
    if (next.size === 0) return false;
    level = [...next];
  }
  return true;
}
