import { type Clock, systemClock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { SandboxThread, type WorkerJob } from "./sandbox-thread.ts";
import {
  type Sandbox,
  type SandboxedCode,
  SandboxError,
  type SandboxFault,
  SandboxOptionError,
} from "./sandbox.ts";

export interface SandboxOptions {
  /** How many runs there are at a time; what is over waits its turn. Each is a thread. Default 2, at least 1. */
  readonly workers?: number;
  readonly clock?: Clock;
}

const defaultMemoryBytes = 32 * 1024 * 1024;
/** QuickJS itself takes some of it, and with less fails in ways of its own. */
const minMemoryBytes = 16 * 1024 * 1024;
const defaultMaxOutputBytes = 16 * 1024 * 1024;

/**
 * A sandbox of QuickJS in WebAssembly, in its own threads: code that never ends blocks nothing else and is stopped. A
 * thread is started by the first run that needs it, kept for later ones, and lets the process end while it is idle.
 * @throws SandboxOptionError
 *
 * @example
 * const sandbox = createSandbox();
 * const signal = AbortSignal.timeout(5_000);
 * await sandbox.run({ name: "sum", source: "({ a, b }) => a + b", input: { a: 1, b: 2 }, signal, timeoutMs: 1_000 });
 */
export function createSandbox({ workers = 2, clock = systemClock }: SandboxOptions = {}): Sandbox {
  checkLimit("workers", workers, 1);
  return new QuickJsSandbox(Math.floor(workers), clock);
}

/** A run that waits for a thread. */
interface Waiting {
  readonly start: (thread: SandboxThread) => void;
  readonly fail: (fault: SandboxFault) => void;
}

class QuickJsSandbox implements Sandbox {
  readonly #size: number;
  readonly #clock: Clock;
  readonly #idle: SandboxThread[] = [];
  readonly #busy = new Set<SandboxThread>();
  readonly #waiting = new Set<Waiting>();

  constructor(size: number, clock: Clock) {
    this.#size = size;
    this.#clock = clock;
  }

  async run(code: SandboxedCode): Promise<unknown> {
    const { name, signal, maxOutputBytes = defaultMaxOutputBytes } = code;
    const { timeoutMs, memoryBytes = defaultMemoryBytes } = code;
    checkLimit("timeoutMs", timeoutMs, 1);
    checkLimit("memoryBytes", memoryBytes, minMemoryBytes);
    checkLimit("maxOutputBytes", maxOutputBytes, 1);
    signal.throwIfAborted();
    const { source } = code;
    const job: WorkerJob = {
      source,
      input: inputText(code),
      timeoutMs,
      memoryBytes,
      maxOutputBytes,
    };
    const thread = await this.#acquire(name, signal);
    try {
      const { outcome, logs } = await thread.run({ job, name, signal, clock: this.#clock });
      if (logs.length > 0) deliver(logs, code);
      if (!outcome.ok) throw new SandboxError(name, outcome.fault);
      return readOutput(name, outcome.json);
    } finally {
      this.#release(thread);
    }
  }

  async close(): Promise<void> {
    for (const one of this.#waiting) one.fail({ reason: "closed", detail: "" });
    this.#waiting.clear();
    const threads = [...this.#idle, ...this.#busy];
    this.#idle.length = 0;
    this.#busy.clear();
    await Promise.all(threads.map((thread) => thread.close()));
  }

  /** A thread for one run: an idle one, a new one, or the next that is released. */
  #acquire(name: string, signal: AbortSignal): SandboxThread | Promise<SandboxThread> {
    const free = this.#takeIdle();
    if (free !== undefined) return this.#use(free);
    if (this.#busy.size < this.#size) return this.#use(new SandboxThread());
    return new Promise<SandboxThread>((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(waiting);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        start: (thread) => {
          signal.removeEventListener("abort", onAbort);
          resolve(thread);
        },
        fail: (fault) => {
          signal.removeEventListener("abort", onAbort);
          reject(new SandboxError(name, fault));
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** The one that was used last is warmest. */
  #takeIdle(): SandboxThread | undefined {
    for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
      if (!thread.isDead) return thread;
    }
    return undefined;
  }

  #use(thread: SandboxThread): SandboxThread {
    this.#busy.add(thread);
    return thread;
  }

  /** Hands the thread, or one in place of a dead one, to who has waited longest. */
  #release(thread: SandboxThread): void {
    // A sandbox that was closed meanwhile knows nothing of it any more.
    if (!this.#busy.delete(thread)) return;
    const [first] = this.#waiting;
    if (first === undefined) {
      if (!thread.isDead) this.#idle.push(thread);
      return;
    }
    this.#waiting.delete(first);
    first.start(this.#use(thread.isDead ? new SandboxThread() : thread));
  }
}

/** @throws SandboxOptionError */
function checkLimit(option: string, value: number, minimum: number): void {
  if (!Number.isFinite(value) || value < minimum) {
    throw new SandboxOptionError(option, value, minimum);
  }
}

/** What a listener throws is its own affair, and changes nothing of what the code gave. */
function deliver(logs: readonly string[], { name, onLog }: SandboxedCode): void {
  try {
    onLog?.(logs);
  } catch (thrown) {
    process.emitWarning(`The onLog of "${name}" threw: ${errorMessage(thrown)}`, {
      type: "StratagraphWarning",
      code: "STRATAGRAPH_SANDBOX_LOG",
    });
  }
}

/** @throws SandboxError where it has no form in JSON */
function inputText({ name, input }: SandboxedCode): string {
  try {
    return JSON.stringify(input) ?? "null";
  } catch (thrown) {
    throw new SandboxError(name, { reason: "input", detail: errorMessage(thrown) });
  }
}

/** Levels of lists and objects within each other that are taken; code that walks results calls itself for each. */
const maxDepth = 500;

/**
 * The value of JSON text that sandboxed code has made.
 * @throws SandboxError for the key `__proto__`, which is harmless here and becomes a prototype where others copy the
 * value key by key; and for what is nested so deeply that others cannot walk it
 */
function readOutput(name: string, json: string): unknown {
  const problem = outputProblem(json);
  if (problem !== undefined) throw new SandboxError(name, { reason: "output", detail: problem });
  return JSON.parse(json) as unknown;
}

/** Found in the text, so that nothing of it is built before it is known to be good. */
function outputProblem(json: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case '"': {
        const end = endOfText(json, at);
        // JSON.stringify escapes no letter of it, so there is one form only.
        if (json[end] === ":" && json.startsWith('"__proto__"', at)) {
          return 'it has the key "__proto__"';
        }
        at = end - 1;
        break;
      }
      case "[":
      case "{":
        depth += 1;
        if (depth > maxDepth) return `it is nested more than ${maxDepth} levels deep`;
        break;
      case "]":
      case "}":
        depth -= 1;
        break;
      default:
    }
  }
  return undefined;
}

/** The place after the closing quote of the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(json: string, at: number): boolean {
  let slashes = 0;
  while (json[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}
