import type { AIMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { backoff, sleep } from "../../async.ts";
import type { Clock } from "../../clock.ts";
import type { FailureReason, ModelCallRecord } from "../../state/usage.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import type { AgentModel, ModelReply, ModelRequest } from "../agent-model.ts";
import type { ChatModel, ChatReply } from "./chat-model.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { type FailedModel, modelCallError } from "../errors.ts";
import {
  classifyFailure,
  defaultFallbackReasons,
  type Failure,
  UnreachableServer,
  WithheldReply,
} from "../failure.ts";
import { meterReply } from "../usage/metering.ts";
import type { ModelProfile } from "../model-profile.ts";
import type { SilenceLimits } from "./token-watch.ts";

export interface MeteredModelOptions {
  readonly chat: ChatModel;
  /** Asked in order when the one before fails. */
  readonly fallbacks?: readonly ChatModel[];
  /** The failures after which the next model is asked. Default: {@link defaultFallbackReasons}. */
  readonly fallbackOn?: readonly FailureReason[] | undefined;
  /** Of `chat`. */
  readonly profile: ModelProfile;
  /** Of `chat`. */
  readonly parallelCalls: boolean;
  readonly retry: RetryPolicy;
  /** Default: none, so that every model is asked. */
  readonly circuits?: CircuitBreaker | undefined;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/**
 * An {@link AgentModel} of one or several chat models: retries, then the fallbacks in order, and the usage of all of it.
 */
export function meteredModel(options: MeteredModelOptions): AgentModel {
  const { chat, fallbacks = [] } = options;
  return {
    ref: chat.ref,
    // The caller words its request for one form of tool call; with a fallback all have to understand it.
    toolCalling: [chat, ...fallbacks].every((one) => one.toolCalling),
    parallelCalls: options.parallelCalls,
    profile: options.profile,
    call: (request, config) => new ModelCall(request, config, options).run(),
  };
}

/** One call: every request that is made for a reply. */
class ModelCall {
  readonly #request: ModelRequest;
  readonly #config: RunnableConfig;
  readonly #options: MeteredModelOptions;
  readonly #calls: ModelCallRecord[] = [];
  readonly #begun: number;
  /** Of replies that were withheld. */
  #spent = noUsage;
  /** Why the tokens of the last request are void; null if there are none. */
  #void: FailureReason | null = null;

  constructor(request: ModelRequest, config: RunnableConfig, options: MeteredModelOptions) {
    this.#request = request;
    this.#config = config;
    this.#options = options;
    this.#begun = options.clock.monotonic();
  }

  /** @throws ModelCallError, or the signal's reason */
  async run(): Promise<ModelReply> {
    const { chat, fallbacks = [], fallbackOn = defaultFallbackReasons, redact } = this.#options;
    this.#config.signal?.throwIfAborted();
    const failed: FailedModel[] = [];
    for (const [at, model] of [chat, ...fallbacks].entries()) {
      const next = fallbacks[at];
      const isPassedOn = (why: FailureReason) => next !== undefined && fallbackOn.includes(why);
      const asked = this.#isSkipped(model, isPassedOn)
        ? circuitOpen(model)
        : await this.#ask(model, isPassedOn);
      if ("message" in asked) return this.#reply(model, asked, failed);
      failed.push(asked);
      const { reason } = asked.failure;
      if (next === undefined || !isPassedOn(reason)) break;
      this.#reset();
      this.#request.onProgress?.({ type: "fallback", from: model.ref, to: next.ref, reason });
    }
    const made = { usage: this.#usage(noUsage), calls: this.#calls };
    throw modelCallError(failed as [FailedModel, ...FailedModel[]], made, redact);
  }

  #isSkipped({ provider }: ChatModel, isPassedOn: IsPassedOn): boolean {
    // A model without another one after it is asked in any case: to fail at once would help no caller.
    return isPassedOn(skippedReason) && this.#options.circuits?.isOpen(provider) === true;
  }

  /** Asks one model until it answers or is not to be asked again. */
  async #ask(model: ChatModel, isPassedOn: IsPassedOn): Promise<MeteredReply | FailedModel> {
    const { clock, circuits } = this.#options;
    const { signal } = this.#config;
    const isReplaced = isPassedOn("timeout");
    for (let tries = 1; ; tries += 1) {
      try {
        const reply = await this.#once(model, isReplaced);
        circuits?.succeeded(model.provider);
        return reply;
      } catch (thrown) {
        signal?.throwIfAborted();
        const failure = classifyFailure(thrown);
        circuits?.failed(model.provider, failure.reason);
        const delay = this.#retryDelay(failure, tries, isReplaced);
        if (delay === null) return { ref: model.ref, failure, tries };
        this.#reset();
        const until = new Date(clock.now().getTime() + delay).toISOString();
        const { reason } = failure;
        this.#request.onProgress?.({ type: "wait", model: model.ref, reason, until });
        await sleep(delay, { clock, signal });
      }
    }
  }

  /**
   * Makes one request, and records it.
   *
   * @param isReplaced another model is asked if this one is silent
   */
  async #once(model: ChatModel, isReplaced: boolean): Promise<MeteredReply> {
    const { clock } = this.#options;
    const { onProgress, onRequest } = this.#request;
    const { signal, metadata } = this.#config;
    const attempt = this.#calls.length + 1;
    const limits = this.#limits(model, isReplaced);
    const onSlow = () => onProgress?.({ type: "slow", model: model.ref });
    const watch = model.watch({ clock, signal, limits, onSlow });
    const config = { ...this.#config, metadata: { ...metadata, model_attempt: attempt } };
    const record = (
      outcome: ModelCallRecord["outcome"],
      { message, usage }: { readonly message: AIMessage | null; readonly usage: Usage },
    ) => {
      const { firstTokenMs: first_token_ms } = watch;
      const latency_ms = Math.round(watch.elapsedMs);
      const call = { model: model.ref, outcome, latency_ms, first_token_ms };
      this.#calls.push(call);
      onRequest?.({ ...call, attempt, message, usage });
    };
    try {
      const reply = await model.ask(this.#request, config, watch);
      const metered = { ...reply, usage: meterReply(reply.message, this.#request, model) };
      record(reply.finish, metered);
      return metered;
    } catch (thrown) {
      const { reason } = classifyFailure(thrown);
      const isWithheld = thrown instanceof WithheldReply;
      const usage = isWithheld ? meterReply(thrown.received, this.#request, model) : noUsage;
      record(signal?.aborted === true ? "cancelled" : reason, { message: null, usage });
      if (isWithheld) this.#spent = addUsage(this.#spent, usage);
      if (watch.firstTokenMs !== null && signal?.aborted !== true) this.#void = reason;
      throw thrown;
    }
  }

  /**
   * A model with fallbacks has half of the time that is left for its first token, so that they are asked in time. The
   * last one has a little less than all of it, so that the failure names it.
   */
  #limits({ limits }: ChatModel, isReplaced: boolean): SilenceLimits {
    const { timeLeftMs } = this.#request;
    if (timeLeftMs === undefined || (!isReplaced && limits.firstTokenMs === null)) return limits;
    const most = this.#timeLeft(timeLeftMs) * (isReplaced ? 0.5 : 0.95);
    return { ...limits, firstTokenMs: Math.min(limits.firstTokenMs ?? most, most) };
  }

  #timeLeft(timeLeftMs: number): number {
    return Math.max(0, timeLeftMs - (this.#options.clock.monotonic() - this.#begun));
  }

  /** Returns the milliseconds before the model is asked again; null if it is not. */
  #retryDelay(failure: Failure, tries: number, isReplaced: boolean): number | null {
    const { timeLeftMs } = this.#request;
    if (failure.reason === "timeout" && isReplaced) return null;
    // Silence that took most of the time leaves none for another try.
    const isLate = timeLeftMs !== undefined && this.#timeLeft(timeLeftMs) < timeLeftMs / 2;
    if (failure.reason === "timeout" && isLate) return null;
    return retryDelay(failure, tries, this.#options.retry);
  }

  /** Says that the tokens of the last request are void, because another one follows. */
  #reset(): void {
    const reason = this.#void;
    this.#void = null;
    if (reason === null) return;
    this.#request.onProgress?.({ type: "reset", attempt: this.#calls.length + 1, reason });
  }

  #reply(model: ChatModel, reply: MeteredReply, failed: readonly FailedModel[]): ModelReply {
    const [first] = failed;
    return {
      ...reply,
      usage: this.#usage(reply.usage),
      model: model.ref,
      fallback: first === undefined ? null : { from: first.ref, reason: first.failure.reason },
      calls: this.#calls,
    };
  }

  /** Every request counts as a call, also one whose tokens are not known. */
  #usage(answered: Usage): Usage {
    return { ...addUsage(this.#spent, answered), llm_calls: this.#calls.length };
  }
}

/** A reply with the usage of its request. */
interface MeteredReply extends ChatReply {
  readonly usage: Usage;
}

/** Returns whether another model is asked after this failure. */
type IsPassedOn = (reason: FailureReason) => boolean;

/** How the failure of {@link circuitOpen} is classified. */
const skippedReason: FailureReason = "outage";

/** A model that was not asked, because its provider's calls fail. */
function circuitOpen({ ref, provider }: ChatModel): FailedModel {
  const thrown = new UnreachableServer(
    `calls to ${provider} have failed repeatedly, so it is not asked for now`,
    "Check the provider's status, or try again in a minute.",
    true,
  );
  return { ref, failure: classifyFailure(thrown), tries: 0 };
}

export interface RetryPolicy {
  /** Tries after the first one, at least 0. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled for each further one, at most 8,000, the upper half of it at random. */
  readonly backoffMs: number;
  /** A number in [0, 1). */
  readonly random: () => number;
}

const longestBackoffMs = 8_000;
/** A server that asks for more than this is not waited for. */
const longestAskedMs = 60_000;

/**
 * Milliseconds to wait before the next try, or null when there is none. A wait that the server asked for is kept exactly.
 * @param tried tries made so far, at least 1
 */
export function retryDelay(failure: Failure, tried: number, policy: RetryPolicy): number | null {
  if (!failure.transient || tried > policy.maxRetries) return null;
  // A second long wait is enough.
  if (failure.reason === "timeout" && tried > 1) return null;
  if (failure.retryAfterMs !== null) {
    return failure.retryAfterMs <= longestAskedMs ? failure.retryAfterMs : null;
  }
  const { backoffMs: baseMs, random } = policy;
  return Math.round(backoff(tried, { baseMs, maxMs: longestBackoffMs, random }));
}
