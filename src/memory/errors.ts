import { StratagraphError } from "../errors.ts";

/** An entry or a filter cannot be stored or used. Nothing was written. */
export class InvalidMemoryError extends StratagraphError {
  readonly code = "invalid_memory";

  constructor(
    /** What was given: `entry`, `filter`, `query`. */
    readonly subject: string,
    readonly problems: readonly string[],
  ) {
    super(`The ${subject} of the memory is not valid: ${problems.join("; ")}.`);
  }
}

/** A vector does not have the dimensions that the store takes, or that its model's other vectors have. */
export class MemoryDimensionError extends StratagraphError {
  readonly code = "memory_dimension";

  constructor(
    readonly model: string,
    readonly expected: string,
    readonly found: number,
  ) {
    super(
      `Expected ${expected} numbers in a vector of "${model}", got ${found.toLocaleString("en")}. ` +
        `Give a model with other dimensions another name.`,
    );
  }
}

/** An agent has long-term memory, and what compiles it has none. */
export class NoMemoryError extends StratagraphError {
  readonly code = "no_memory";

  constructor(readonly agent: string) {
    super(
      `Agent "${agent}" uses long-term memory (memory_config), but there is no memory to compile it with. ` +
        "Use a runtime of createRuntime, pass `memory` with the services, or set long_term.enabled and procedural.enabled to false.",
    );
  }
}

/** The memory did not respond in time. A turn continues without it. */
export class MemoryTimeoutError extends StratagraphError {
  readonly code = "memory_timeout";
  override readonly transient = true;

  constructor(readonly seconds: number) {
    super(`The memory did not respond within ${seconds} seconds.`);
  }
}

/** Another consolidation of the thread is running, in this process or in another. */
export class MemoryBusyError extends StratagraphError {
  readonly code = "memory_busy";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(readonly threadId: string | null) {
    super(
      threadId === null
        ? "The memory is being consolidated elsewhere. Try again when that has ended."
        : `The memory of thread ${JSON.stringify(threadId)} is being consolidated elsewhere. Try again when that has ended.`,
    );
  }
}
