import { createHash } from "node:crypto";
import { tryCompileSchema } from "../../definition/check/check-definition.ts";
import type {
  JsonSchema,
  JsonSchemaCheck,
  SchemaCheck,
} from "../../definition/schema/json-schema.ts";
import type { ServerSpec } from "../../definition/schema/servers.ts";
import {
  type StatelessTool,
  type ToolDefinition,
  resolveToolExecution,
  type ToolTransport,
} from "../../definition/tool/tool.ts";
import { nearestName } from "../../nearest-name.ts";
import { deepFreeze, isRecord } from "../../values/json.ts";
import { truncateText, headOf } from "../../values/text.ts";
import { type ServerTools, ServerToolsError } from "./tool-servers.ts";

/**
 * The tools of a server as agents use them, from what it lists: those that its spec asks for, under names that models
 * take. `runOf` gives a tool's code by its own name.
 * @throws ServerToolsError where two tools have one name, or the spec names a tool that the server does not list
 */
export function serverTools(
  spec: ServerSpec,
  listed: readonly unknown[],
  runOf: (own: string) => StatelessTool["run"],
): ServerTools {
  const problems: string[] = [];
  const entries = listed.flatMap((tool, index) => {
    if (isRecord(tool) && typeof tool["name"] === "string") return [{ tool, own: tool["name"] }];
    problems.push(`Server "${spec.name}": entry ${index + 1} of its list has no name.`);
    return [];
  });
  checkNamed(spec, new Set(entries.map(({ own }) => own)));
  const wanted = spec.tools === undefined ? undefined : new Set(spec.tools);
  const ownNames = new Map<string, string>();
  const tools = entries.flatMap(({ tool, own }) => {
    if (wanted !== undefined && !wanted.has(own)) return [];
    const note = (problem: string) =>
      problems.push(`Server "${spec.name}", tool ${quoted(own)}: ${problem}.`);
    const name = toolName(own, spec.prefix);
    if (name === undefined) {
      note("left out, since its name has characters other than letters, digits and _ - . /");
      return [];
    }
    const other = ownNames.get(name);
    if (other !== undefined) throw clash(spec, [other, own], name);
    ownNames.set(name, own);
    const made = listedTool({ spec, listed: tool, own, name, run: runOf(own) });
    if ("refused" in made) {
      note(`left out: ${made.refused}`);
      return [];
    }
    made.problems.forEach(note);
    return [made.tool];
  });
  return Object.freeze({ tools: Object.freeze(tools), problems: Object.freeze(problems) });
}

/** A setting that takes effect on nothing may be one that was to make a tool safe. */
function checkNamed(spec: ServerSpec, there: ReadonlySet<string>): void {
  const named = [
    ...(spec.tools ?? []).map((name) => ["tools", name] as const),
    ...Object.keys(spec.overrides).map((name) => ["overrides", name] as const),
  ];
  for (const [where, name] of named) {
    if (there.has(name)) continue;
    const near = nearestName(name, [...there]);
    const meant = near === undefined ? "" : ` Did you mean ${quoted(near)}?`;
    throw new ServerToolsError(
      spec.name,
      `Its ${where} name ${quoted(name)}, which it does not list.${meant}`,
    );
  }
}

function clash(spec: ServerSpec, [first, second]: [string, string], name: string): Error {
  const both = first === second ? "It lists two tools" : "It lists two tools that become one";
  const which =
    first === second ? `named ${quoted(first)}` : `(${quoted(first)}, ${quoted(second)})`;
  return new ServerToolsError(
    spec.name,
    `${both} ${which}: an agent would know both as "${name}". Leave one out with the server's list of tools.`,
  );
}

/** Characters of a description; each turn's prompt carries it. */
const maxDescription = 10_000;

export interface ListedTool {
  readonly tool: StatelessTool;
  /** What is not as it should be, as clauses. */
  readonly problems: readonly string[];
}

export interface ListedToolOptions {
  readonly spec: ServerSpec;
  /** The tool as the server lists it. */
  readonly listed: Readonly<Record<string, unknown>>;
  /** The server's own name of it, and the one that agents use. */
  readonly own: string;
  readonly name: string;
  readonly run: StatelessTool["run"];
}

/** A tool of a server as agents use it, or why it cannot be used. */
function listedTool(options: ListedToolOptions): ListedTool | { readonly refused: string } {
  const { spec, listed, own, name, run } = options;
  const override = Object.hasOwn(spec.overrides, own) ? spec.overrides[own] : undefined;
  const input = inputCheck(listed["inputSchema"]);
  if ("refused" in input) return input;
  const hasOutput = listed["outputSchema"] !== undefined && listed["outputSchema"] !== null;
  const output = hasOutput ? outputCheck(listed["outputSchema"]) : undefined;
  const outputOf = output !== undefined && "check" in output ? output.check : undefined;
  const title = titleOf(listed);
  const described = override?.description ?? textOf(listed["description"]) ?? "";
  const definition: ToolDefinition = deepFreeze({
    name,
    ...(title !== undefined && { display_name: title }),
    description:
      described.trim() === ""
        ? `The tool ${own} of the server ${spec.name}.`
        : truncateText(described, maxDescription),
    input_schema: input.check.jsonSchema,
    ...(outputOf && { output_schema: outputOf.jsonSchema }),
    transport: transportOf(spec),
    execution: resolveToolExecution({
      ...definedOf(spec.execution),
      ...definedOf(override?.execution),
    }),
    permissions: (override?.permissions ?? spec.permissions ?? []).map((permission) => ({
      name: permission,
      required: true,
    })),
    persistence: "none",
    requires_approval: override?.requires_approval ?? spec.requires_approval ?? false,
    version: "1.0.0",
    is_builtin: false,
  });
  const tool: StatelessTool = Object.freeze({
    kind: "stateless",
    definition,
    input: input.check,
    ...(outputOf && { output: outputOf }),
    run,
  });
  const problems = [input.problem, output?.problem].filter((problem) => problem !== undefined);
  return { tool, problems };
}

/** Secrets in it stay references. */
function transportOf(spec: ServerSpec): ToolTransport {
  if (spec.transport === "stdio") {
    const command = [spec.command, ...spec.args].join(" ");
    return { type: "stdio", server: spec.name, command };
  }
  return { type: spec.transport, server: spec.name, endpoint: spec.endpoint };
}

type Settings = NonNullable<ServerSpec["execution"]>;

function definedOf(settings: Settings | undefined): Settings {
  return Object.fromEntries(
    Object.entries(settings ?? {}).filter(([, value]) => value !== undefined),
  );
}

function titleOf(listed: Readonly<Record<string, unknown>>): string | undefined {
  const { title, annotations } = listed;
  return textOf(title) ?? (isRecord(annotations) ? textOf(annotations["title"]) : undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

const maxLength = 64;
const hashLength = 8;

/**
 * The name under which agents know a server's tool. Dots and slashes become `_`; a name over 64 characters ends with a
 * hash of the whole instead. Undefined for names that hold anything else or climb by `..`: a model would be shown a name
 * that means something other than it says.
 */
export function toolName(own: string, prefix = ""): string | undefined {
  if (!/^[A-Za-z0-9_./-]+$/.test(own) || own.includes("..")) return undefined;
  const whole = prefix + own.replace(/[./]/g, "_");
  if (whole.length <= maxLength) return whole;
  const hash = createHash("sha256")
    .update(prefix + own)
    .digest("hex")
    .slice(0, hashLength);
  return `${whole.slice(0, maxLength - hashLength - 1)}_${hash}`;
}

/** A name of someone else's in a message: cut, in quotes, and without characters that act on a terminal. */
export function quoted(name: string): string {
  return JSON.stringify(headOf(name, 100)).replace(
    /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Maximum levels of a schema. */
const maxDepth = 100;

export interface CheckedSchema {
  readonly check: SchemaCheck;
  /** Why less is checked than the schema says. */
  readonly problem?: string;
}

/** The check of a tool's arguments, with the server's schema as it is; or why the tool cannot be shown to a model. */
function inputCheck(schema: unknown): CheckedSchema | { readonly refused: string } {
  if (!isRecord(schema)) return { refused: "its inputSchema is no JSON Schema" };
  if (isDeeper(schema, maxDepth)) {
    return { refused: `its inputSchema is nested more than ${maxDepth} levels deep` };
  }
  const ofObject: JsonSchema = schema["type"] === "object" ? schema : { ...schema, type: "object" };
  const compiled = tryCompileSchema(ofObject);
  if ("check" in compiled) {
    return { check: compiled.check, ...unmatchedProblem("inputSchema", compiled.check) };
  }
  return {
    check: objectCheck(ofObject),
    problem: `of its arguments, only the names of those that are required are checked (${compiled.problem})`,
  };
}

/** The check of what a call gives; texts, which a tool may give in place of what its schema says, are taken as they are. */
function outputCheck(schema: unknown): CheckedSchema | { readonly problem: string } {
  if (!isRecord(schema) || isDeeper(schema, maxDepth)) {
    return { problem: "its results are not checked: its outputSchema is no JSON Schema" };
  }
  const compiled = tryCompileSchema(schema);
  if (!("check" in compiled)) {
    return { problem: `its results are not checked (${compiled.problem})` };
  }
  const { check } = compiled;
  return {
    check: {
      jsonSchema: schema,
      check: (value) => (isRecord(value) ? check.check(value) : { ok: true, value }),
    },
    ...unmatchedProblem("outputSchema", check),
  };
}

/** Most patterns that a warning names. */
const mostNamed = 3;

/** A server's patterns that backtracking alone could match are left out, and the rest of its schema is checked. */
function unmatchedProblem(
  key: string,
  { uncheckedPatterns: unmatched }: JsonSchemaCheck,
): { problem?: string } {
  if (unmatched.length === 0) return {};
  const named = unmatched.slice(0, mostNamed).map((one) => truncateText(one, 300));
  const others = unmatched.length > mostNamed ? `; and ${unmatched.length - mostNamed} more` : "";
  return { problem: `of its ${key}, patterns are not checked (${named.join("; ")}${others})` };
}

/** Checks that the value is an object with what the schema requires at its top. */
function objectCheck(jsonSchema: JsonSchema): SchemaCheck {
  const { required } = jsonSchema;
  const names = Array.isArray(required)
    ? required.filter((name): name is string => typeof name === "string")
    : [];
  return {
    jsonSchema,
    check(value) {
      if (!isRecord(value)) return { ok: false, issues: ["value: expected an object"] };
      const missing = names.filter((name) => !Object.hasOwn(value, name));
      if (missing.length === 0) return { ok: true, value };
      return { ok: false, issues: missing.map((name) => `${name}: missing`) };
    },
  };
}

function isDeeper(value: unknown, limit: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null
        ? Object.values(one).filter((child) => typeof child === "object" && child !== null)
        : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
