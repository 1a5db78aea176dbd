import type { ChildProcess } from "node:child_process";

const live = new Set<ChildProcess>();

/**
 * Whether a child leads a process group of its own, so that what it started itself, such as the server behind `npx`, ends
 * with it. Windows has no such groups.
 */
export const hasOwnGroup = process.platform !== "win32";

/**
 * Signals that end a process without its exit handlers. A child with a group of its own does not get those that the
 * terminal sends.
 */
const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Kills the child when this process exits or is ended by a signal, until it has ended. */
export function trackChild(child: ChildProcess): void {
  if (live.size === 0) watch();
  live.add(child);
  child.once("exit", () => {
    live.delete(child);
    if (live.size === 0) unwatch();
  });
}

function watch(): void {
  process.on("exit", killAll);
  for (const signal of endingSignals) process.prependListener(signal, onSignal);
}

function unwatch(): void {
  process.off("exit", killAll);
  for (const signal of endingSignals) process.off(signal, onSignal);
}

/**
 * Does what would have happened without it. Where others listen, they decide whether the process ends, and the children
 * may be needed until then.
 */
function onSignal(signal: NodeJS.Signals): void {
  process.off(signal, onSignal);
  if (process.listenerCount(signal) > 0) {
    // Some listeners end the process only where there are no others: it is not there while they look.
    setImmediate(() => {
      process.off(signal, onSignal);
      if (live.size > 0) process.prependListener(signal, onSignal);
    });
    return;
  }
  killAll();
  process.kill(process.pid, signal);
}

function killAll(): void {
  for (const child of live) signalChild(child, "SIGKILL");
}

/** Sends a signal to the child and what it started. Does nothing where they are gone. */
export function signalChild(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    if (hasOwnGroup) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // It ended a moment ago.
  }
}
