import { abortable, backoff, deadline, sleep } from "../../async.ts";
import type { ServerSpec } from "../../definition/schema/servers.ts";
import { errorMessage } from "../../errors.ts";
import { maxBackoffMs } from "../retry.ts";
import { openConnection, type Connection, type ConnectionDeps } from "./connection.ts";
import { ServerDiedError, type ServerStatus } from "./tool-servers.ts";
import { OpenAbortedError } from "./transport-link.ts";

/** Failed starts in a row after which calls are refused until the next one is due. */
const failuresUntilDown = 5;
/** Milliseconds before the first restart, doubled for each one after it, up to 60 s; half of it is random. */
const firstBackoffMs = 1_000;

export interface ToolServerDeps extends ConnectionDeps {
  /** Milliseconds without a call after which it is closed until the next one; undefined for never. */
  readonly idleMs: number | undefined;
}

/**
 * One server and its connection, which is made again when a call needs it: nothing is started in the background. A process
 * that has died is started again no sooner than its backoff; a server behind HTTP is reached again at once.
 */
export class ToolServer {
  readonly spec: ServerSpec;
  readonly #deps: ToolServerDeps;
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #starts = 0;
  /** Failed starts in a row. */
  #failures = 0;
  /** Failed starts and deaths since it last answered a call. */
  #strikes = 0;
  /** On the clock's `monotonic`. */
  #notBefore = 0;
  #inFlight = 0;
  #stopIdling = () => {};
  #state: ServerStatus["state"] = "closed";
  #problem: string | null = null;

  constructor(spec: ServerSpec, deps: ToolServerDeps) {
    this.spec = spec;
    this.#deps = deps;
  }

  get status(): ServerStatus {
    const { name, transport } = this.spec;
    const restarts = Math.max(0, this.#starts - 1);
    return { name, transport, state: this.#state, restarts, problem: this.#problem };
  }

  /**
   * Runs `work` with a connection, which is made first where there is none. `work` may reject after the connection has
   * ended; that it was used says nothing of why.
   * @throws ServerDiedError, ServerStartError, MissingSecretError; the signal's reason; what `work` throws
   */
  async use<T>(signal: AbortSignal, work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#stopIdling();
    this.#inFlight += 1;
    try {
      return await work(await this.#acquire(signal));
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#idle();
    }
  }

  /** The server answered a call: it is well. */
  answered(): void {
    this.#strikes = 0;
  }

  /** Lets go of a connection that is of no more use, so that the next call makes another. */
  drop(connection: Connection, problem: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#state = "restarting";
    this.#problem = problem;
    void connection.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closing.abort(new OpenAbortedError("It was closed."));
    this.#stopIdling();
    this.#state = "closed";
    this.#problem = "it was closed";
    const connection = this.#connection;
    this.#connection = undefined;
    await Promise.allSettled([this.#opening, connection?.close()]);
  }

  #acquire(signal: AbortSignal): Promise<Connection> | Connection {
    signal.throwIfAborted();
    if (this.#closing.signal.aborted) {
      throw new ServerDiedError(this.spec.name, "It was closed.");
    }
    if (this.#connection?.isOpen() === true) return this.#connection;
    if (this.#opening === undefined) {
      const waitMs = this.#notBefore - this.#deps.clock.monotonic();
      if (this.#state === "down" && waitMs > 0) throw this.#downError(waitMs);
      this.#opening = this.#open(waitMs).finally(() => (this.#opening = undefined));
      // Callers may have gone by the time it fails.
      this.#opening.catch(() => {});
    }
    return abortable(this.#opening, signal);
  }

  async #open(waitMs: number): Promise<Connection> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    if (waitMs > 0) await this.#within(signal, waitMs);
    const limit = this.spec.start_timeout_ms;
    const start = deadline({
      clock,
      outer: [signal],
      remainingMs: limit,
      timeUp: () => new OpenAbortedError(startTimeoutMessage(limit)),
    });
    try {
      const connection: Connection = await openConnection(this.spec, this.#deps, {
        signal: start.signal,
        onEnd: () => this.#onEnd(connection),
      });
      return await this.#welcome(connection);
    } catch (thrown) {
      if (!signal.aborted) this.#onFailedStart(errorMessage(thrown));
      throw thrown;
    } finally {
      start.release();
    }
  }

  /** Waits for the backoff, unless all is closed before. */
  async #within(signal: AbortSignal, waitMs: number): Promise<void> {
    await sleep(waitMs, { clock: this.#deps.clock, signal }).catch(() => {
      throw new ServerDiedError(this.spec.name, "It was closed.");
    });
  }

  async #welcome(connection: Connection): Promise<Connection> {
    if (this.#closing.signal.aborted) {
      await connection.close();
      throw new ServerDiedError(this.spec.name, "It was closed.");
    }
    this.#connection = connection;
    this.#starts += 1;
    this.#failures = 0;
    this.#state = "connected";
    this.#problem = null;
    if (!connection.isOpen()) this.#onEnd(connection);
    return connection;
  }

  #onEnd(connection: Connection): void {
    // Not where it was let go of on purpose.
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#state = "restarting";
    this.#problem = connection.endProblem().text;
    this.#delayNextStart();
  }

  #onFailedStart(problem: string): void {
    this.#failures += 1;
    this.#state = this.#failures >= failuresUntilDown && this.#isProcess ? "down" : "restarting";
    this.#problem = problem;
    this.#delayNextStart();
  }

  #delayNextStart(): void {
    if (!this.#isProcess) return;
    this.#strikes += 1;
    const delay = backoff(this.#strikes, {
      baseMs: firstBackoffMs,
      maxMs: maxBackoffMs,
      random: Math.random,
    });
    this.#notBefore = this.#deps.clock.monotonic() + delay;
  }

  get #isProcess(): boolean {
    return this.spec.transport === "stdio";
  }

  #downError(waitMs: number): ServerDiedError {
    const seconds = Math.ceil(waitMs / 1_000);
    return new ServerDiedError(
      this.spec.name,
      `${this.#failures} starts in a row have failed; the next is tried in ${seconds} s. The last: ${this.#problem ?? ""}`,
      { retryable: true },
    );
  }

  #idle(): void {
    const { idleMs, clock } = this.#deps;
    if (idleMs === undefined || this.#closing.signal.aborted) return;
    this.#stopIdling = clock.after(idleMs, () => {
      const connection = this.#connection;
      if (connection === undefined) return;
      this.#connection = undefined;
      this.#state = "closed";
      this.#problem = `it was not used for ${idleMs.toLocaleString("en")} ms; the next call starts it again`;
      void connection.close().catch(() => {});
    });
  }
}

function startTimeoutMessage(limit: number): string {
  const ms = limit.toLocaleString("en");
  return `It was not ready within ${ms} ms. Raise start_timeout_ms if it needs longer.`;
}
