import valid from "semver/functions/valid.js";
import { errorMessage } from "../errors.ts";
import { graphProblems } from "./graph-problems.ts";
import { checkFromJsonSchema, type JsonSchema, type SchemaCheck } from "./json-schema.ts";
import { showFound, type DefinitionProblem } from "./problems.ts";
import { schemaProblems } from "./schema-problems.ts";
import { agentSpecSchema, type AgentSpec } from "./schema.ts";
import { unsupportedProblems } from "./unsupported.ts";

/** Nested maps and lists of a definition. */
const maxDepth = 64;

export type CheckedDefinition =
  | { readonly ok: true; readonly spec: AgentSpec }
  | { readonly ok: false; readonly problems: readonly DefinitionProblem[] };

/** Everything that can be said of a definition as it was written, without knowing what tools and models there are. */
export function checkDefinition(written: unknown): CheckedDefinition {
  if (isDeeperThan(written, maxDepth)) {
    return {
      ok: false,
      problems: [{ path: [], message: `nested more than ${maxDepth} levels deep` }],
    };
  }
  const parsed = agentSpecSchema.safeParse(written);
  const problems = [
    ...schemaProblems(written),
    ...unsupportedProblems(written),
    ...(parsed.success ? ruleProblems(parsed.data) : []),
  ];
  if (problems.length > 0 || !parsed.success) return { ok: false, problems };
  return { ok: true, spec: parsed.data };
}

/** Rules that a schema cannot state. */
function ruleProblems(spec: AgentSpec): readonly DefinitionProblem[] {
  return [
    ...(valid(spec.version) === null
      ? [
          {
            path: ["version"],
            message: "expected a semantic version such as 1.0.0",
            found: showFound(spec.version),
          },
        ]
      : []),
    ...duplicateTools(spec.tools),
    ...schemaRule("input_schema", spec.input_schema),
    ...schemaRule("output_schema", spec.output_schema),
    ...(spec.workflow_graph === undefined ? [] : graphProblems(spec.workflow_graph)),
  ];
}

function duplicateTools(tools: AgentSpec["tools"]): DefinitionProblem[] {
  return tools.flatMap((tool, index) =>
    typeof tool === "string" && tools.indexOf(tool) < index
      ? [{ path: ["tools", index], message: `"${tool}" is already named` }]
      : [],
  );
}

function schemaRule(
  key: "input_schema" | "output_schema",
  schema: JsonSchema,
): readonly DefinitionProblem[] {
  if (schema["type"] !== "object") {
    return [
      {
        path: [key, "type"],
        message: 'expected a JSON Schema of type "object"',
        found: showFound(schema["type"]),
      },
    ];
  }
  const compiled = tryCompile(schema);
  return "problem" in compiled
    ? [{ path: [key], message: `not a JSON Schema that can be checked: ${compiled.problem}` }]
    : [];
}

/** A schema's check, or why it has none. */
export function tryCompile(
  schema: JsonSchema,
): { readonly check: SchemaCheck } | { readonly problem: string } {
  try {
    return { check: checkFromJsonSchema(schema) };
  } catch (thrown) {
    return { problem: errorMessage(thrown) };
  }
}

/** Walks level by level, so that no depth can exhaust the stack; a value that contains itself counts as too deep. */
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
