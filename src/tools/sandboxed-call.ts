import type { StatelessTool } from "../definition/tool.ts";
import { StratagraphError } from "../errors.ts";
import type { CallContext } from "./call-context.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

/** A tool with `execution.sandbox` was called where there is no sandbox. */
class NoSandboxError extends StratagraphError {
  readonly code = "no_sandbox";
  override readonly kind = "run";

  constructor(readonly tool: string) {
    super(`Tool "${tool}" runs in a sandbox only, and there is none here. Run it with a runtime.`);
  }
}

export function isSandboxed({ definition }: StatelessTool): boolean {
  return definition.execution.sandbox;
}

/**
 * Runs the source of a tool's handler in the sandbox.
 * @throws SandboxError, NoSandboxError
 */
export function runSandboxed(
  tool: StatelessTool,
  input: unknown,
  { env }: { readonly env: { readonly sandbox?: Sandbox | undefined } },
  context: CallContext,
): Promise<unknown> {
  const { name, execution } = tool.definition;
  if (env.sandbox === undefined || tool.source === undefined) throw new NoSandboxError(name);
  return env.sandbox.run({
    source: tool.source,
    input,
    name,
    signal: context.signal,
    timeoutMs: execution.timeout_ms,
  });
}
