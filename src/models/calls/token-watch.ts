import {
  BaseCallbackHandler,
  callbackHandlerPrefersStreaming,
} from "@langchain/core/callbacks/base";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { RunnableConfig } from "@langchain/core/runnables";
import { abortable } from "../../async.ts";
import type { Clock } from "../../clock.ts";
import { SilentModel } from "../failure.ts";

/** How long a model may be silent, in milliseconds; null for no limit. */
export interface SilenceLimits {
  readonly firstTokenMs: number | null;
  readonly betweenTokensMs: number | null;
}

/** Silence after which a caller is notified. */
const slowAfterMs = 5_000;

export interface TokenWatchOptions {
  readonly clock: Clock;
  readonly limits: SilenceLimits;
  /** Whether the reply should be streamed even if no other callback reads its tokens. */
  readonly streams: boolean;
  /** Aborts the request. */
  readonly signal: AbortSignal | undefined;
  /** Called once, if no token has come within 5 seconds. */
  readonly onSlow?: (() => void) | undefined;
}

/** Watches one request: measures the time to its first token, and aborts it when the model is silent for too long. */
export class TokenWatch extends BaseCallbackHandler {
  readonly name = "stratagraph_token_watch";
  override awaitHandlers = true;
  readonly lc_prefer_streaming: boolean;
  /** Milliseconds to the first token; null while there is none. */
  firstTokenMs: number | null = null;
  readonly #options: TokenWatchOptions;
  readonly #begun: number;
  /** When the silence began; monotonic. */
  #silentSince: number;
  /** Null without limits. */
  readonly #request: AbortController | null;
  #isOver = false;
  #cancelSlow: () => void = () => {};
  #cancelLimit: () => void = () => {};

  constructor(options: TokenWatchOptions) {
    super();
    this.#options = options;
    this.lc_prefer_streaming = options.streams;
    const { clock, limits, onSlow } = options;
    const isLimited = limits.firstTokenMs !== null || limits.betweenTokensMs !== null;
    this.#request = isLimited ? new AbortController() : null;
    this.#begun = clock.monotonic();
    this.#silentSince = this.#begun;
    if (onSlow !== undefined) this.#cancelSlow = clock.after(slowAfterMs, onSlow);
    this.#wait(limits.firstTokenMs);
  }

  get elapsedMs(): number {
    return this.#options.clock.monotonic() - this.#begun;
  }

  /**
   * Runs a request under this watch.
   * @throws the signal's reason, or SilentModel
   */
  async watch<T>(config: RunnableConfig, ask: (config: RunnableConfig) => Promise<T>): Promise<T> {
    const { signal: outer } = this.#options;
    const request = this.#request;
    const callbacks = this.#callbacks(config.callbacks);
    const given = callbacks === undefined ? config : { ...config, callbacks };
    if (request === null) {
      return abortable(ask(given), outer).finally(() => this.#end());
    }
    const { signal } = request;
    const onAbort = () => request.abort(outer?.reason);
    outer?.addEventListener("abort", onAbort, { once: true });
    if (outer?.aborted === true) onAbort();
    try {
      return await abortable(ask({ ...given, signal }), signal);
    } catch (thrown) {
      throw signal.aborted ? signal.reason : thrown;
    } finally {
      this.#end();
      outer?.removeEventListener("abort", onAbort);
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelSlow();
    this.#cancelLimit();
  }

  /** Returns the callbacks with this watch; the same ones for a reply that is not streamed, which has no tokens. */
  #callbacks(given: Callbacks | undefined): Callbacks | undefined {
    const handlers = Array.isArray(given) ? given : (given?.handlers ?? []);
    const isStreamed =
      this.lc_prefer_streaming ||
      handlers.some((one) => callbackHandlerPrefersStreaming(one as BaseCallbackHandler));
    if (!isStreamed) return given;
    if (given === undefined) return [this];
    return Array.isArray(given) ? [...given, this] : given.copy([this]);
  }

  override handleLLMNewToken(): void {
    this.#token();
  }

  override handleChatModelStreamEvent(): void {
    this.#token();
  }

  #token(): void {
    if (this.#isOver) return;
    this.#silentSince = this.#options.clock.monotonic();
    if (this.firstTokenMs !== null) return;
    this.firstTokenMs = Math.round(this.#silentSince - this.#begun);
    this.#cancelSlow();
    this.#cancelLimit();
    this.#wait(this.#options.limits.betweenTokensMs);
  }

  /** Aborts the request after a silence of `limitMs`. The timer is set anew only when it fires, not for every token. */
  #wait(limitMs: number | null): void {
    if (limitMs === null) return;
    const { clock } = this.#options;
    const left = this.#silentSince + limitMs - clock.monotonic();
    this.#cancelLimit = clock.after(Math.max(0, left), () => {
      if (this.#silentSince + limitMs > clock.monotonic()) this.#wait(limitMs);
      else this.#request?.abort(new SilentModel(this.#problem(limitMs)));
    });
  }

  #problem(limitMs: number): string {
    const seconds = (limitMs / 1000).toLocaleString("en", { maximumFractionDigits: 1 });
    return this.firstTokenMs === null
      ? `no token came within ${seconds} s (llm_config.timeout.first_token_seconds)`
      : `no further token came within ${seconds} s (llm_config.timeout.between_tokens_seconds)`;
  }
}
