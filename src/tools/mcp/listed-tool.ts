import type { ServerSpec } from "../../definition/server-schema.ts";
import { toolExecution } from "../../definition/tool-execution.ts";
import type { StatelessTool, ToolDefinition, ToolTransport } from "../../definition/tool.ts";
import { cutText } from "../../state/cut-text.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { isRecord } from "../../state/is-record.ts";
import { inputCheck, outputCheck } from "./server-schema-check.ts";

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
export function listedTool(options: ListedToolOptions): ListedTool | { readonly refused: string } {
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
        : cutText(described, maxDescription),
    input_schema: input.check.jsonSchema,
    ...(outputOf && { output_schema: outputOf.jsonSchema }),
    transport: transportOf(spec),
    execution: toolExecution({
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
