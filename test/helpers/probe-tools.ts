import { checkFromJsonSchema, type JsonSchema } from "../../src/definition/schema/json-schema.ts";
import type {
  StatefulTool,
  StatelessTool,
  ToolDefinition,
  ToolPersistence,
  ToolRetry,
} from "../../src/definition/tool/tool.ts";

interface ToolOptions {
  name?: string;
  input?: JsonSchema;
  output?: JsonSchema;
  timeoutMs?: number;
  maxResultBytes?: number;
  idempotent?: boolean;
  retry?: Partial<ToolRetry>;
  permissions?: readonly string[];
}

function toolParts(options: ToolOptions, persistence: ToolPersistence) {
  const inputSchema = options.input ?? { type: "object" };
  const definition: ToolDefinition = {
    name: options.name ?? "probe",
    description: "A tool of a test.",
    input_schema: inputSchema,
    ...(options.output && { output_schema: options.output }),
    transport: { type: "function" },
    execution: {
      timeout_ms: options.timeoutMs ?? 1_000,
      retry: { max_retries: 0, backoff_ms: 500, ...options.retry },
      sandbox: false,
      idempotent: options.idempotent ?? false,
      repeatable: false,
      max_result_bytes: options.maxResultBytes ?? 1_000,
    },
    permissions: (options.permissions ?? []).map((name) => ({ name, required: true })),
    persistence,
    requires_approval: false,
    version: "1.0.0",
    is_builtin: false,
  };
  const output = options.output && checkFromJsonSchema(options.output);
  return { definition, input: checkFromJsonSchema(inputSchema), ...(output && { output }) };
}

export function statelessTool(run: StatelessTool["run"], options: ToolOptions = {}): StatelessTool {
  return { kind: "stateless", ...toolParts(options, "none"), run };
}

/** `reduce` may return what the type forbids, to see it refused. */
export function statefulTool(
  reduce: (...args: Parameters<StatefulTool["reduce"]>) => unknown,
  options: ToolOptions & { persistence?: ToolPersistence } = {},
): StatefulTool {
  const parts = toolParts(options, options.persistence ?? "execution");
  return { kind: "stateful", ...parts, reduce: reduce as StatefulTool["reduce"] };
}

export function callOf(args: Record<string, unknown> = {}, name = "probe", id = "call-1") {
  return { id, name, args, reason: "" };
}
