import { Worker } from "node:worker_threads";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { SandboxError, type SandboxFault } from "./sandbox.ts";

/** One run for a worker. */
export interface ThreadRun {
  readonly job: WorkerJob;
  /** What is said of it in errors. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Milliseconds after its time that a run gets to end by itself, which keeps its worker. */
const graceMs = 250;

/** The longest delay that timers of Node take. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * What a worker may take of the host's heap: enough for input and output of a run, whose own heap is WebAssembly's.
 * QuickJS calls itself on the thread's stack, which has to hold more than QuickJS allows itself.
 */
const resourceLimits = {
  maxOldGenerationSizeMb: 256,
  maxYoungGenerationSizeMb: 32,
  stackSizeMb: 16,
};

/** A worker that runs one piece of code at a time. Once dead, it stays so. */
export class SandboxThread {
  readonly #worker: Worker;
  /** What it died of. */
  #death: SandboxFault | undefined;
  /** Ends the run that is under way: with its end, or with what to reject it with. */
  #settle: ((end: WorkerEnd | { readonly failed: unknown }) => void) | undefined;
  #onBegun: (() => void) | undefined;
  #name = "";

  constructor() {
    this.#worker = new Worker(new URL("./sandbox-worker.mjs", import.meta.url), {
      name: "sandbox",
      env: {},
      argv: [],
      // Loaders and inspectors of the process are not for it.
      execArgv: [],
      stdin: false,
      // Kept from the process's own. Not read either: a stream that is read keeps the process alive.
      stdout: true,
      stderr: true,
      resourceLimits,
    });
    this.#worker.unref();
    this.#worker.on("message", (message: WorkerMessage) => this.#receive(message));
    this.#worker.on("error", (thrown) => this.#die(faultOf(thrown)));
    this.#worker.on("exit", (code) =>
      this.#die({ reason: "crashed", detail: `its worker ended with code ${code}` }),
    );
  }

  get isDead(): boolean {
    return this.#death !== undefined;
  }

  /**
   * Runs a job and waits for its end. A worker that must be stopped is dead afterwards.
   * @throws SandboxError where the worker had to be killed or died; the signal's reason
   */
  async run({ job, name, signal, clock }: ThreadRun): Promise<WorkerEnd> {
    signal.throwIfAborted();
    // It may have died, or been closed, since it was chosen.
    if (this.#death !== undefined) throw new SandboxError(name, this.#death);
    let stopTimer = () => {};
    const onAbort = () => this.#kill(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    // The process stays until the run has ended, and no longer.
    this.#worker.ref();
    try {
      return await new Promise<WorkerEnd>((resolve, reject) => {
        this.#name = name;
        this.#settle = (end) => ("failed" in end ? reject(end.failed) : resolve(end));
        this.#onBegun = () => {
          stopTimer = clock.after(Math.min(job.timeoutMs + graceMs, maxDelayMs), () => {
            const detail = job.timeoutMs.toLocaleString("en");
            this.#kill(new SandboxError(name, { reason: "timeout", detail }));
          });
        };
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        this.#worker.postMessage(job);
      });
    } finally {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
      this.#settle = undefined;
      this.#onBegun = undefined;
      // The caller waits for the end, and may have nothing else that keeps the process alive.
      if (!this.isDead) this.#worker.unref();
    }
  }

  /** Ends the worker, and with it what it runs. */
  async close(): Promise<void> {
    this.#die({ reason: "closed", detail: "" });
    this.#worker.ref();
    await this.#worker.terminate();
  }

  #receive(message: WorkerMessage): void {
    if (message.type === "begun") this.#onBegun?.();
    else this.#settle?.(message.end);
  }

  #kill(reason: unknown): void {
    this.#death ??= { reason: "crashed", detail: "it was stopped" };
    void this.#worker.terminate();
    this.#settle?.({ failed: reason });
  }

  #die(fault: SandboxFault): void {
    this.#death ??= fault;
    this.#settle?.({ failed: new SandboxError(this.#name, fault) });
  }
}

function faultOf(thrown: unknown): SandboxFault {
  const { code } = thrown as { code?: unknown };
  const detail =
    code === "ERR_WORKER_OUT_OF_MEMORY" ? "its worker ran out of memory" : errorMessage(thrown);
  return { reason: "crashed", detail };
}

/** What a worker is sent: one run. */
export interface WorkerJob {
  readonly source: string;
  /** JSON text. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputBytes: number;
}

/** What a worker sends: that a run has begun, and how it ended. */
export type WorkerMessage =
  | { readonly type: "begun" }
  | { readonly type: "ended"; readonly end: WorkerEnd };

export interface WorkerEnd {
  readonly outcome: WorkerOutcome;
  /** Lines of the console. */
  readonly logs: readonly string[];
}

/** `json` is the text of what the function gave. */
export type WorkerOutcome =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly fault: SandboxFault };
