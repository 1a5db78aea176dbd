import type { ModelProgress } from "../../src/models/agent-model.ts";
import type { ManualClock } from "../helpers/manual-clock.ts";

/** Collects the progress of a call, and says when it waits before its next request. */
export function waits() {
  const all: ModelProgress[] = [];
  let seen = 0;
  return {
    all,
    add: (progress: ModelProgress) => void all.push(progress),
    /** Lets the process work until the call waits once more. */
    async next(): Promise<void> {
      const count = () => all.filter(({ type }) => type === "wait").length;
      while (count() === seen) await new Promise(setImmediate);
      seen = count();
      // The timer is set after the progress was told.
      await new Promise(setImmediate);
    },
  };
}

/** Lets every wait of a call be over at once, by the time that it takes. */
export function waiting(clock: ManualClock): (progress: ModelProgress) => void {
  return (progress) => {
    if (progress.type !== "wait") return;
    const { until } = progress;
    // The timer is set after the progress was told.
    setImmediate(() => clock.advance(Date.parse(until) - clock.now().getTime()));
  };
}
