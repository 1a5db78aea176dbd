// Captured at load: fake timers of a caller's tests must not stop a run.
const immediate = setImmediate;
const microtask = queueMicrotask;
const nextTick = process.nextTick.bind(process);
const now = performance.now.bind(performance);

/** Milliseconds of synchronous work between two turns of the event loop. */
const sliceMs = 5;

/** FIFO queue; a set returns its first member in constant time. */
const waiting = new Set<() => void>();
/** Whether a turn is running or scheduled. */
let isActive = false;

/**
 * Resolves in the next turn of the event loop, after due timers and I/O. Code that only awaits promises never leaves
 * the microtask queue, which starves timers, signals and other connections.
 *
 * Waiting callers resume in FIFO order, each once the microtasks of the previous one are drained, for at most
 * {@link sliceMs} per turn. The rest resume first in the following turn.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    if (isActive) return;
    isActive = true;
    immediate(resumeAll);
  });
}

function resumeAll(): void {
  resume(waiting.size, now());
}

function resume(left: number, since: number): void {
  for (const first of waiting) {
    waiting.delete(first);
    first();
    break;
  }
  if (left === 1) endTurn();
  else {
    // `nextTick` callbacks run once the microtask queue is empty.
    microtask(() => {
      nextTick(() => {
        if (now() - since < sliceMs) resume(left - 1, since);
        else endTurn();
      });
    });
  }
}

function endTurn(): void {
  isActive = waiting.size > 0;
  if (isActive) immediate(resumeAll);
}

/**
 * Returns a function that yields to the event loop if {@link sliceMs} have passed since its last yield, and otherwise
 * returns null. Concurrent callers share it.
 */
export function createSlices(): () => Promise<void> | null {
  let since = now();
  return () =>
    now() - since < sliceMs
      ? null
      : yieldToEventLoop().then(() => {
          since = now();
        });
}

/**
 * Runs a generator, yielding to the event loop after each time slice.
 *
 * @throws the signal's reason once it has aborted
 */
export async function runInSlices<Result>(
  work: Generator<void, Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const sliceEnd = createSlices();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const turn = sliceEnd();
    if (turn === null) continue;
    await turn;
    signal?.throwIfAborted();
  }
}

/** Runs a generator to completion synchronously. */
export function runToCompletion<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
