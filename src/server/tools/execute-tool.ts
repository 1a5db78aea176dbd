import { z } from "zod";
import { agentTools } from "../../compile/agent-setup.ts";
import {
  type AgentTool,
  isClientTool,
  isPermission,
  type ToolDefinition,
} from "../../definition/tool/tool.ts";
import { abortable, linkSignals, sleep } from "../../async.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { admitCall, type CallRules } from "../../tools/admit-call.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import { isFileTool } from "../agents/tenant-rules.ts";
import { readStoredDefinition } from "../agents/read-definition.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { toolEntry, toRegistered } from "./tool-entry.ts";

/** Milliseconds that a caller waits for the server of a tool to start. */
const maxStartMs = 30_000;

/** What comes before the name in the id of a tool that is not registered. */
export const builtinPrefix = "builtin:";

export const toolParams = z.strictObject({
  tool_id: z.string().min(1).max(100).describe("Id of the tool."),
});

const bodySchema = z
  .strictObject({
    input: z.record(z.string(), z.unknown()).default({}).describe("The arguments."),
    timeout_ms: z
      .int()
      .min(1)
      .max(300_000)
      .describe(
        "Milliseconds of a try, where that is less than the tool's own time, and until the server of the tool is ready.",
      )
      .optional(),
    permissions: z
      .array(
        z
          .string()
          .refine((text) => isPermission(text, { wildcards: true }), "expected a permission"),
      )
      .max(100)
      .default([])
      .describe("What the call is granted, as an agent is. Default none."),
    approved: z
      .boolean()
      .default(false)
      .describe("Whether a person has approved the call, for tools that require it."),
  })
  .meta({ id: "ToolExecution" });

const answerSchema = z
  .strictObject({
    output: z.unknown().describe("Null unless the call succeeded."),
    outcome: z.enum(["success", "failure", "error", "timeout"]),
    status: z.enum(["success", "error"]),
    error: z.string().nullable().describe("What an agent would read."),
    latency_ms: z.number(),
  })
  .meta({ id: "ToolExecutionResult" });

/** Creates the route that makes one call of a tool, as `stratagraph tools call` does. */
export function executeToolRoute(base: ApiBase): Route {
  return defineRoute({
    method: "post",
    path: "/v1/tools/{tool_id}/execute",
    operationId: "executeTool",
    summary: "Makes one call of a tool, outside of any run.",
    description:
      "The call is checked, bounded and cleaned of secrets as in a run. A failed call is an answer with `status: error`. A stateful tool runs on an empty state, which is not stored.",
    tag: "tools",
    scopes: ["tools:execute"],
    params: toolParams,
    body: bodySchema,
    timeoutMs: 330_000,
    answers: { 200: { description: "How the call ended.", schema: answerSchema } },
    problems: ["conflict", "invalid_input"],
    handle: ({ params, body, principal, signal }) =>
      base.runtimes.use(principal.tenantId, async ({ runtime }) => {
        const { tenantId, keyId } = principal;
        const { tool_id: id } = params;
        const limitMs = Math.min(body.timeout_ms ?? maxStartMs, maxStartMs);
        const found = await findTool(base, { id, tenantId, runtime, limitMs, signal });
        const result =
          "problem" in found ? found : await call(found.tool, { ...body, signal, base, runtime });
        await base.platform.audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "tool.execute",
          subject: id,
        });
        return { status: 200, body: answerOf(result) };
      }),
  });
}

/**
 * Returns the definition of a built-in tool, or of one of the operator's.
 *
 * @throws NotFoundError, also for tools that tenants may not use
 */
export function builtinTool(
  registry: ToolRegistry,
  { id, allow }: { readonly id: string } & Pick<ApiBase, "allow">,
): ToolDefinition {
  const name = id.slice(builtinPrefix.length);
  const tool = id.startsWith(builtinPrefix) ? registry.get(name) : undefined;
  const isRefused = allow.fileTools !== true && isFileTool(name);
  if (tool === undefined || isRefused) throw new NotFoundError("tool", id);
  return tool.definition;
}

type Runtime = TenantRuntime["runtime"];

/** Why a tool was not called. */
interface NoTool {
  readonly problem: string;
  readonly outcome: "error" | "timeout";
}

/** The tool, or why its server does not provide it now. @throws NotFoundError */
async function findTool(
  { platform, allow, clock }: ApiBase,
  of: {
    readonly id: string;
    readonly tenantId: string;
    readonly runtime: Runtime;
    /** Milliseconds. */
    readonly limitMs: number;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly tool: AgentTool } | NoTool> {
  const { id, tenantId, runtime, limitMs, signal } = of;
  if (id.startsWith(builtinPrefix)) {
    const { name } = builtinTool(runtime.tools, { id, allow });
    return { tool: runtime.tools.resolve([name])[0]! };
  }
  const stored = await platform.tools.get(tenantId, id);
  const tools = [toolEntry(toRegistered(stored))];
  const definition = readStoredDefinition({ name: "tools", tools });
  const waiting = linkSignals(signal);
  try {
    const late = sleep(limitMs, { clock, signal: waiting.signal }).then(() => null);
    const started = await abortable(Promise.race([agentTools(definition, runtime), late]), signal);
    if (started === null) {
      const problem = `The server of the tool was not ready within ${limitMs.toLocaleString("en")} ms.`;
      return { problem, outcome: "timeout" };
    }
    const tool = started.get(stored.name);
    const problem = `The server has no tool "${stored.name}" that agents can use.`;
    return tool === undefined ? { problem, outcome: "error" } : { tool };
  } catch (thrown) {
    if (!(thrown instanceof StratagraphError)) throw thrown;
    const problem = errorMessage(thrown);
    return { problem: runtime.secrets?.scrub(problem) ?? problem, outcome: "error" };
  } finally {
    waiting.abort();
  }
}

/** @throws HttpProblem for a tool of the caller, and for a call that needs approval */
async function call(
  found: AgentTool,
  of: z.output<typeof bodySchema> & {
    readonly signal: AbortSignal;
    readonly base: ApiBase;
    readonly runtime: Runtime;
  },
): Promise<ToolResult> {
  const { input, timeout_ms, signal, runtime } = of;
  if (isClientTool(found)) {
    throw new HttpProblem("invalid_input", {
      detail: "The caller of a run makes the calls of this tool: it cannot be executed here.",
    });
  }
  const tool = timeout_ms === undefined ? found : withTimeLimit(found, timeout_ms);
  const { name } = tool.definition;
  const made = { id: of.base.ids(), name, args: input, reason: "" };
  const state = { execution: {}, attempt: {} };
  const rules: CallRules = {
    tools: new Map([[name, tool]]),
    allowed: "all",
    grants: of.permissions,
    values: { input: {}, ...state },
  };
  const isAdmitted = admitCall(made, 0, rules).refusal === null && tool.input.check(input).ok;
  if (tool.definition.requires_approval && isAdmitted && !of.approved) {
    throw new HttpProblem("conflict", {
      detail: 'A person must approve calls of this tool. Send "approved": true once one has.',
      extensions: { code: "approval_required" },
    });
  }
  const { clock, secrets, sandbox } = runtime;
  const env = { signal, clock, secrets, sandbox };
  const { results } = await runToolCalls({ ...rules, calls: [made], callsSoFar: 0, state, env });
  return results[0]!;
}

function withTimeLimit(tool: AgentTool, limitMs: number): AgentTool {
  const { definition } = tool;
  const timeout_ms = Math.min(limitMs, definition.execution.timeout_ms);
  const execution = { ...definition.execution, timeout_ms };
  return { ...tool, definition: { ...definition, execution } };
}

function answerOf(result: ToolResult | NoTool) {
  if ("problem" in result) {
    const { problem: error, outcome } = result;
    return { output: null, outcome, status: "error", error, latency_ms: 0 };
  }
  const { outcome, error, execution_time_ms: latency_ms } = result;
  return {
    output: result.result ?? null,
    outcome,
    status: outcome === "success" ? "success" : "error",
    error,
    latency_ms,
  };
}
