import { createRuntime, type Runtime, type RuntimeOptions } from "../../app.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { StratagraphError } from "../../errors.ts";
import type { CliIo } from "../io.ts";

/** A signal ended a command that keeps nothing. */
export class StoppedError extends StratagraphError {
  readonly code = "stopped";
  override readonly kind = "run";

  constructor() {
    super("Stopped before completion.");
  }
}

/**
 * A runtime without a database, closed after `use` with the servers that were started. A signal ends these at once.
 * @throws StoppedError, and what making the runtime and `use` throw
 */
export async function withRuntime<Result>(
  options: Omit<RuntimeOptions, "checkpointer">,
  io: Pick<CliIo, "env" | "onStop">,
  use: (runtime: Runtime, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const runtime = await createRuntime({ env: io.env, ...options, checkpointer: false });
  const abort = new AbortController();
  const release = io.onStop(() => {
    abort.abort(new StoppedError());
    void runtime.close();
  });
  try {
    abort.signal.throwIfAborted();
    const result = await use(runtime, abort.signal);
    abort.signal.throwIfAborted();
    return result;
  } catch (thrown) {
    // What servers that were ended on purpose say is no news.
    throw abort.signal.aborted ? abort.signal.reason : thrown;
  } finally {
    await runtime.close();
    release();
  }
}

/** The agent as if it were active and had a model: both are judged apart, and would end compiling early. */
export function withDryRunModel(definition: AgentDefinition): AgentDefinition {
  const llm_config = { default_model: "offline:rules" };
  return { ...definition, spec: { ...definition.spec, is_active: true, llm_config } };
}
