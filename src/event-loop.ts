// Captured at load: fake timers of a caller's tests must not stop a run.
const immediate = setImmediate;
const microtask = queueMicrotask;
const nextTick = process.nextTick.bind(process);
const now = performance.now.bind(performance);

/** Milliseconds of pure work between two turns of the event loop. */
const sliceMs = 5;

/** First in, first out: a set gives its first member in constant time. */
const waiting = new Set<() => void>();
/** Whether a turn is under way, or on its way. */
let isActive = false;

/**
 * Resolves in the next turn of the event loop, after due timers and I/O had theirs. Code that waits for promises alone
 * never leaves the microtask queue: timers, signals and other connections would wait until it ends.
 *
 * The callers that wait when the turn comes resume in it, in their order and each when the one before has no microtask
 * left, for {@link sliceMs} at most. The others are the first of the turn after that.
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
    // Ticks come when the queue of microtasks is empty.
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
 * Returns a function that yields to the event loop where {@link sliceMs} have passed since the last turn it waited for,
 * and returns null where not. Concurrent callers share it.
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
 * Runs work that pauses at each `yield`, and yields to the event loop after each slice of it.
 *
 * @throws the reason of the signal, once it has aborted
 */
export async function inSlices<Result>(
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

/** Runs the same work without a pause. */
export function atOnce<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
