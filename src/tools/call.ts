import { sleep } from "../async.ts";
import type { Clock } from "../clock.ts";
import type { AgentTool, StatefulTool, StatelessTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import type { ToolOutcome, ToolResult } from "../state/step-record.ts";
import type { AgentState, Awaitable } from "../state/tiers.ts";
import { deepFreeze } from "../values/json.ts";
import { checkInput, checkOutput } from "./call-value.ts";
import { mayRetry, retryDelay, withTimeout, ToolTimeoutError } from "./retry.ts";
import { type Sandbox, SandboxError } from "./sandbox/sandbox.ts";
import type { Secrets } from "./secrets.ts";
import {
  validateStateUpdate,
  HandlerMutationError,
  HandlerReturnError,
  HandlerTierError,
  isFrozenObjectError,
  readReducerReturn,
  type StateRules,
} from "./stateful-call.ts";
import {
  CallContext,
  type CallEnd,
  type HandlerInterrupts,
  interruptIn,
  isToolFailure,
  thrownText,
  type ToolCall,
  toolResult,
} from "./tool-result.ts";

/** What a call needs of the run around it. */
export interface CallEnv {
  /** The run's signal: cancellation and the turn's timeout. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The name of the agent that calls. */
  readonly agent?: string | undefined;
  /** Left out, tools have no secrets. */
  readonly secrets?: Secrets | undefined;
  /** Where the handlers of sandboxed tools run. Left out, these cannot be called. */
  readonly sandbox?: Sandbox | undefined;
  /** Puts what was redacted back into a call's arguments, for its handler. Left out, nothing was redacted. */
  readonly unredact?: ((args: unknown) => unknown) | undefined;
  /** Puts the marks of what was redacted back, before anything is cut or refused. Left out, nothing was redacted. */
  readonly redact?: (<T>(value: T) => T) | undefined;
  /** If left out, the `interrupt()` of a handler is an ordinary error, because no answer could arrive. */
  readonly interrupts?: HandlerInterrupts | undefined;
  /** From 0 to below 1, for backoff. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The schemas judge a tier that the handler changed; its value is kept as the handler made it. */
export interface StatefulCallEnv extends CallEnv, StateRules {}

/**
 * Calls a tool without state. Whatever its handler does becomes the outcome of this call; a handler that blocks the
 * thread cannot be interrupted, and what it returns counts.
 * @throws the reason of `env.signal` when that aborts, and the interrupt by which the handler asks a person: then there
 * is no result.
 */
export async function callStateless(
  tool: StatelessTool,
  call: ToolCall,
  env: CallEnv,
): Promise<{ result: ToolResult }> {
  const made = begun(call, env);
  try {
    const output = await perform(tool, made, (input, context) => {
      return isSandboxed(tool)
        ? runSandboxed(tool, input, made, context)
        : tool.run(input, context);
    });
    return { result: succeeded(made, checkOutput(tool, output, cleaner(env))) };
  } catch (thrown) {
    return { result: failed(made, thrown) };
  }
}

/**
 * Calls a tool with the state, which is deeply frozen in place. The new state is frozen as well; unless the outcome is
 * `success` it is the one that was given. A tool of persistence `execution` may change both tiers, one of persistence
 * `attempt` that tier alone.
 * @throws HandlerMutationError, HandlerReturnError, HandlerTierError: mistakes in the handler's code; the reason of
 * `env.signal` when that aborts; the interrupt by which the handler asks a person.
 */
export async function callStateful(
  tool: StatefulTool,
  call: ToolCall,
  state: AgentState<unknown, unknown>,
  env: StatefulCallEnv,
): Promise<{ result: ToolResult; state: AgentState<unknown, unknown> }> {
  const made = begun(call, env);
  try {
    deepFreeze(state);
    const returned = await perform(tool, made, (input, context) =>
      tool.reduce(state, input, context),
    );
    const { newState, toolResult: output } = readReducerReturn(tool, returned);
    const { executionSchema, attemptSchema, merges } = env;
    const accepted = validateStateUpdate(tool, state, newState, {
      executionSchema,
      attemptSchema,
      merges,
      scrub: scrubber(env),
    });
    const result = succeeded(made, checkOutput(tool, output, cleaner(env)));
    return { result, state: accepted };
  } catch (thrown) {
    if (!env.signal.aborted) {
      if (thrown instanceof HandlerReturnError || thrown instanceof HandlerTierError) throw thrown;
      if (isFrozenObjectError(thrown)) {
        throw new HandlerMutationError(tool.definition.name, thrown, env.secrets);
      }
    }
    return { result: failed(made, thrown), state };
  }
}

/** A call that is being made. */
interface Begun {
  readonly call: ToolCall;
  readonly env: CallEnv;
  /** `clock.monotonic()` at its first try. */
  readonly startedAt: number;
  /** Tries after the first. */
  retries: number;
}

function begun(call: ToolCall, env: CallEnv): Begun {
  return { call, env, startedAt: env.clock.monotonic(), retries: 0 };
}

type Handler = (input: unknown, context: CallContext) => Awaitable<unknown>;

/** Checks the arguments, runs the handler, as often as the tool allows, and waits for it where it is not done at once. */
function perform(tool: AgentTool, made: Begun, handler: Handler): Awaitable<unknown> {
  const { call, env } = made;
  env.signal.throwIfAborted();
  const args = env.unredact?.(call.args) ?? call.args;
  const once = () => tryOnce(tool, checkInput(tool, args), made, handler);
  const { retry } = tool.definition.execution;
  return retry.max_retries === 0 ? once() : tryAgain(tool, made, once);
}

async function tryAgain(
  tool: AgentTool,
  made: Begun,
  once: () => Awaitable<unknown>,
): Promise<unknown> {
  const { env } = made;
  const { max_retries: most, backoff_ms: base } = tool.definition.execution.retry;
  for (;;) {
    try {
      return await once();
    } catch (thrown) {
      if (made.retries >= most || env.signal.aborted || !mayRetry(tool, thrown)) throw thrown;
      if (interruptIn(thrown) !== undefined) throw thrown;
      const random = env.random ?? Math.random;
      const delay = retryDelay(thrown, made.retries + 1, { baseMs: base, random });
      if (delay === null) throw thrown;
      made.retries += 1;
      await sleep(delay, env);
    }
  }
}

function tryOnce(
  tool: AgentTool,
  input: unknown,
  { call, env }: Begun,
  handler: Handler,
): Awaitable<unknown> {
  const startedAt = env.clock.monotonic();
  const context = new CallContext(call.id, env);
  const output = handler(input, context);
  if (!isThenable(output)) return output;
  const { name, execution } = tool.definition;
  const isBounded = tool.kind === "stateless" && (isSandboxed(tool) || tool.hasOwnTimeout === true);
  const { timeout_ms: timeoutMs } = execution;
  return withTimeout(isBounded ? asTimeout(output, name, timeoutMs) : output, {
    tool: name,
    timeoutMs: isBounded ? null : timeoutMs,
    startedAt,
    signal: env.signal,
    clock: env.clock,
    context,
  });
}

/** The sandbox says that its code ran too long; of a call that is a timeout. */
async function asTimeout(
  pending: PromiseLike<unknown>,
  tool: string,
  timeoutMs: number,
): Promise<unknown> {
  try {
    return await pending;
  } catch (thrown) {
    const isTimeout = thrown instanceof SandboxError && thrown.reason === "timeout";
    throw isTimeout ? new ToolTimeoutError(tool, timeoutMs) : thrown;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

function succeeded(made: Begun, output: unknown): ToolResult {
  const result = made.env.secrets?.scrubValue(output) ?? output;
  return ended(made, { outcome: "success", result, error: null });
}

/** @throws the reason of the run's signal if it has aborted; an interrupt that can be answered */
function failed(made: Begun, thrown: unknown): ToolResult {
  const { signal, secrets, interrupts } = made.env;
  signal.throwIfAborted();
  const interrupt = interrupts === undefined ? undefined : interruptIn(thrown);
  if (interrupt !== undefined) throw interrupt;
  const text = thrownText(thrown, cleaner(made.env));
  const error = secrets?.scrub(text) ?? text;
  return ended(made, { outcome: outcomeOf(thrown), result: null, error });
}

/** Removes confidential values. Undefined if there are none, since cleaning costs a larger copy. */
function cleaner({ secrets, redact }: CallEnv): (<T>(value: T) => T) | undefined {
  if (secrets?.hasRevealed() !== true) return redact;
  return (value) => {
    const scrubbed = secrets.scrubValue(value);
    return redact === undefined ? scrubbed : redact(scrubbed);
  };
}

/** Undefined where no secret was given out. */
function scrubber({ secrets }: CallEnv): (<T>(value: T) => T) | undefined {
  return secrets?.hasRevealed() === true ? (value) => secrets.scrubValue(value) : undefined;
}

function ended({ call, env, startedAt, retries }: Begun, end: CallEnd): ToolResult {
  const result = toolResult(call, end, env.clock.monotonic() - startedAt);
  return retries === 0 ? result : { ...result, retries };
}

function outcomeOf(thrown: unknown): ToolOutcome {
  if (thrown instanceof ToolTimeoutError) return "timeout";
  return isToolFailure(thrown) ? "failure" : "error";
}

/** A tool with `execution.sandbox` was called where there is no sandbox. */
class NoSandboxError extends StratagraphError {
  readonly code = "no_sandbox";
  override readonly kind = "run";

  constructor(readonly tool: string) {
    super(`Tool "${tool}" runs in a sandbox only, and there is none here. Run it with a runtime.`);
  }
}

function isSandboxed({ definition }: StatelessTool): boolean {
  return definition.execution.sandbox;
}

/**
 * Runs the source of a tool's handler in the sandbox.
 * @throws SandboxError, NoSandboxError
 */
function runSandboxed(
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
