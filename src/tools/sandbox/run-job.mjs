// @ts-check
import { prelude } from "./prelude.mjs";

/**
 * @import { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from "quickjs-emscripten-core"
 * @import { SandboxFault } from "./sandbox.ts"
 * @import { WorkerEnd, WorkerJob, WorkerOutcome } from "./sandbox-thread.ts"
 */

/** Bytes of QuickJS's own stack, some 5,000 calls. The thread's stack is larger, so that this one ends first. */
const stackBytes = 1024 * 1024;

/** Bytes of memory that there are more of for telling what went wrong. */
const spareBytes = 1024 * 1024;

/** Bytes by which WebAssembly's memory grows. */
const pageBytes = 65_536;

/** Jobs of promises that are done between two looks at the time. */
const jobsAtATime = 256;

/** The name of the source in stacks, by which lines are found. */
const sourceFile = "code.js";

const consoleLimits = { maxLines: 200, maxLine: 2_000 };

/**
 * Runs one job in an instance of QuickJS that nothing has been run in. The instance is not to be used again: it is left
 * as the code left it.
 *
 * @param {QuickJSWASMModule} quickjs
 * @param {WorkerJob} job
 * @returns {WorkerEnd}
 */
export function runJob(quickjs, job) {
  const run = new Run(quickjs, job);
  const outcome = run.outcome();
  return { outcome, logs: run.logs() };
}

class Run {
  /** Whether QuickJS was told to stop. Code can catch what it then throws, so its own word for it does not count. */
  #stopped = false;
  #memoryLeft;
  /** Whether there was no memory where the code asked for some. */
  #starved = false;
  #deadline;
  #job;
  /** @type {QuickJSRuntime} */
  #runtime;
  /** @type {QuickJSContext} */
  #context;
  /** @type {QuickJSHandle} */
  #prelude;

  /** @param {QuickJSWASMModule} quickjs @param {WorkerJob} job */
  constructor(quickjs, job) {
    this.#job = job;
    this.#memoryLeft = this.#limitMemory(quickjs.getWasmMemory());
    this.#runtime = quickjs.newRuntime();
    this.#context = this.#runtime.newContext();
    const source = `(${String(prelude)})(${JSON.stringify(consoleLimits)})`;
    this.#prelude = this.#context.unwrapResult(this.#context.evalCode(source, "prelude.js"));
    this.#runtime.setMaxStackSize(stackBytes);
    this.#deadline = performance.now() + job.timeoutMs;
    this.#runtime.setInterruptHandler(() => this.#isOver());
  }

  /** @returns {WorkerOutcome} */
  outcome() {
    try {
      const outcome = this.#evaluate();
      // Code that goes on after it was stopped has no say any more.
      return this.#stopped ? failed(this.#timeout()) : outcome;
    } catch (thrown) {
      if (this.#stopped) return failed(this.#timeout());
      return failed(hostFault(thrown));
    }
  }

  /** @returns {string[]} */
  logs() {
    try {
      // What is left of the time of a stopped run would not do for this, and it runs no code but the prelude's.
      this.#runtime.removeInterruptHandler();
      const logs = this.#call("logs");
      return logs.error ? [] : JSON.parse(this.#context.getString(logs.value));
    } catch {
      return [];
    }
  }

  /** @returns {WorkerOutcome} */
  #evaluate() {
    const context = this.#context;
    const code = context.evalCode(`(${this.#job.source}\n)`, sourceFile, { strict: true });
    if (code.error) return failed(this.#thrown(code.error, true));
    if (context.typeof(code.value) !== "function") {
      const detail = `expected a function, found a value of type ${context.typeof(code.value)}`;
      return failed({ reason: "syntax", detail });
    }
    const input = context.newString(this.#job.input);
    const started = this.#call("run", code.value, input);
    if (started.error) return failed(this.#thrown(started.error));
    return this.#settle(started.value);
  }

  /** @param {QuickJSHandle} promise @returns {WorkerOutcome} */
  #settle(promise) {
    for (;;) {
      const state = this.#context.getPromiseState(promise);
      if (state.type === "fulfilled") return this.#output(state.value);
      if (state.type === "rejected") return failed(this.#thrown(state.error));
      if (this.#isOver()) return failed(this.#timeout());
      const done = this.#runtime.executePendingJobs(jobsAtATime);
      if (done.error) return failed(this.#thrown(done.error));
      if (done.value === 0) return failed({ reason: "unsettled", detail: "" });
    }
  }

  /** @param {QuickJSHandle} handle of a text @returns {WorkerOutcome} */
  #output(handle) {
    const { maxOutputBytes } = this.#job;
    const detail = `it is more than ${maxOutputBytes.toLocaleString("en")} bytes of JSON`;
    const units = this.#context.getNumber(this.#context.getProp(handle, "length"));
    if (units > maxOutputBytes) return failed({ reason: "output", detail });
    const json = this.#context.getString(handle);
    if (Buffer.byteLength(json) > maxOutputBytes) return failed({ reason: "output", detail });
    return { ok: true, json };
  }

  /**
   * What a thrown value says of itself, asked for inside the sandbox: it may have getters, or be a proxy.
   * @param {QuickJSHandle} thrown
   * @param {boolean} [parsing]
   * @returns {SandboxFault}
   */
  #thrown(thrown, parsing = false) {
    if (this.#stopped) return this.#timeout();
    const starved = this.#starved;
    this.#memoryLeft.bytes += spareBytes;
    const described = this.#call("describe", thrown);
    if (described.error) {
      return starved ? this.#memory() : { reason: "threw", detail: "a value that cannot be read" };
    }
    const { name, message, stack } = JSON.parse(this.#context.getString(described.value));
    const found = /\bcode\.js:(\d+)/.exec(stack);
    const line = found === null ? undefined : Number(found[1]);
    // Where there is no memory for an error either, QuickJS throws null or an empty text.
    if (starved && (name === "" || message === "out of memory")) return this.#memory();
    if (message === "stack overflow") return { reason: "stack", detail: "", line };
    if (parsing && name === "SyntaxError") return { reason: "syntax", detail: message, line };
    if (this.#stage() === "output") return { reason: "output", detail: message };
    return { reason: "threw", detail: message, thrown: name === "" ? undefined : name, line };
  }

  #stage() {
    const stage = this.#call("stage");
    return stage.error ? "code" : this.#context.getString(stage.value);
  }

  /** @param {string} name @param {QuickJSHandle[]} args */
  #call(name, ...args) {
    const called = this.#context.getProp(this.#prelude, name);
    return this.#context.callFunction(called, this.#prelude, ...args);
  }

  /**
   * QuickJS's own limit counts a few bytes of each block only, since this build cannot ask for a block's size. So it is
   * the memory as a whole that is kept from growing.
   * @param {ReturnType<QuickJSWASMModule["getWasmMemory"]>} memory
   */
  #limitMemory(memory) {
    const left = { bytes: this.#job.memoryBytes - memory.buffer.byteLength };
    const grow = memory.grow.bind(memory);
    memory.grow = (/** @type {number} */ pages) => {
      if (pages * pageBytes > left.bytes) {
        this.#starved = true;
        throw new RangeError("the limit is reached");
      }
      left.bytes -= pages * pageBytes;
      return grow(pages);
    };
    return left;
  }

  #isOver() {
    if (performance.now() > this.#deadline) this.#stopped = true;
    return this.#stopped;
  }

  /** @returns {SandboxFault} */
  #timeout() {
    return { reason: "timeout", detail: this.#job.timeoutMs.toLocaleString("en") };
  }

  /** @returns {SandboxFault} */
  #memory() {
    return { reason: "memory", detail: this.#job.memoryBytes.toLocaleString("en") };
  }
}

/** @param {SandboxFault} fault @returns {WorkerOutcome} */
function failed(fault) {
  return { ok: false, fault };
}

/** An exception of the instance itself; only its kind is reported, since the rest is about the host. @param {unknown} thrown @returns {SandboxFault} */
function hostFault(thrown) {
  if (thrown instanceof RangeError) return { reason: "stack", detail: "" };
  const kind = thrown instanceof Error ? thrown.name : typeof thrown;
  return { reason: "crashed", detail: `QuickJS stopped with a ${kind}` };
}
