import type { Clock } from "../clock.ts";
import type { AgentTool, StatefulTool, StatelessTool, ToolContext } from "../definition/tool.ts";
import type { AgentState, Awaitable } from "../state/agent-state.ts";
import { deepFreeze } from "../state/freeze.ts";
import type { ToolOutcome, ToolResult } from "../state/step-record.ts";
import { CallContext } from "./call-context.ts";
import { checkInput } from "./check-input.ts";
import { checkOutput } from "./check-output.ts";
import { HandlerMutationError, HandlerReturnError, isFrozenObjectError } from "./handler-errors.ts";
import { acceptNewState, readReducerReturn, type StateSchemas } from "./new-state.ts";
import { settle, ToolTimeoutError } from "./settle.ts";
import { isToolFailure, thrownText } from "./tool-failure.ts";
import { type ToolCall, toolResult } from "./tool-result.ts";

/** What a call needs of the run around it. */
export interface CallEnv {
  /** The run's signal: cancellation and the turn's timeout. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** The schemas judge a tier that the handler changed; its value is kept as the handler made it. */
export interface StatefulCallEnv extends CallEnv, StateSchemas {}

/**
 * Calls a tool without state. Whatever its handler does becomes the outcome of this call; a handler that blocks the
 * thread cannot be interrupted, and what it returns counts.
 * @throws the reason of `env.signal` when that aborts: then there is no result.
 */
export async function callStateless(
  tool: StatelessTool,
  call: ToolCall,
  env: CallEnv,
): Promise<{ result: ToolResult }> {
  const startedAt = env.clock.monotonic();
  try {
    const output = await perform(tool, call, env, startedAt, (input, context) =>
      tool.run(input, context),
    );
    return { result: succeeded(call, checkOutput(tool, output), env, startedAt) };
  } catch (thrown) {
    return { result: failed(call, thrown, env, startedAt) };
  }
}

/**
 * Calls a tool with the state, which is deeply frozen in place. The new state is frozen as well; unless the outcome is
 * `success` it is the one that was given. A tool of persistence `execution` may change both tiers, one of persistence
 * `attempt` that tier alone.
 * @throws HandlerMutationError, HandlerReturnError: mistakes in the handler's code; the reason of `env.signal` when
 * that aborts.
 */
export async function callStateful(
  tool: StatefulTool,
  call: ToolCall,
  state: AgentState<unknown, unknown>,
  env: StatefulCallEnv,
): Promise<{ result: ToolResult; state: AgentState<unknown, unknown> }> {
  const startedAt = env.clock.monotonic();
  try {
    deepFreeze(state);
    const returned = await perform(tool, call, env, startedAt, (input, context) =>
      tool.reduce(state, input, context),
    );
    const { newState, toolResult: output } = readReducerReturn(tool, returned);
    const accepted = acceptNewState(tool, state, newState, env);
    const result = succeeded(call, checkOutput(tool, output), env, startedAt);
    return { result, state: accepted };
  } catch (thrown) {
    if (!env.signal.aborted) {
      if (thrown instanceof HandlerReturnError) throw thrown;
      if (isFrozenObjectError(thrown)) {
        throw new HandlerMutationError(tool.definition.name, thrown);
      }
    }
    return { result: failed(call, thrown, env, startedAt), state };
  }
}

/** Checks the arguments, runs the handler and waits for it where it is not done at once. */
function perform(
  tool: AgentTool,
  call: ToolCall,
  env: CallEnv,
  startedAt: number,
  handler: (input: unknown, context: ToolContext) => Awaitable<unknown>,
): Awaitable<unknown> {
  env.signal.throwIfAborted();
  const input = checkInput(tool, call.args);
  const context = new CallContext(call.id, env.clock);
  const output = handler(input, context);
  if (!isThenable(output)) return output;
  return settle(output, {
    tool: tool.definition.name,
    timeoutMs: tool.definition.execution.timeout_ms,
    startedAt,
    signal: env.signal,
    clock: env.clock,
    context,
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

function succeeded(call: ToolCall, result: unknown, env: CallEnv, startedAt: number): ToolResult {
  const elapsed = env.clock.monotonic() - startedAt;
  return toolResult(call, { outcome: "success", result, error: null }, elapsed);
}

/** @throws the reason of `env.signal` when that has aborted. */
function failed(call: ToolCall, thrown: unknown, env: CallEnv, startedAt: number): ToolResult {
  env.signal.throwIfAborted();
  const elapsed = env.clock.monotonic() - startedAt;
  const end = { outcome: outcomeOf(thrown), result: null, error: thrownText(thrown) };
  return toolResult(call, end, elapsed);
}

function outcomeOf(thrown: unknown): ToolOutcome {
  if (thrown instanceof ToolTimeoutError) return "timeout";
  return isToolFailure(thrown) ? "failure" : "error";
}
