import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { formatAgo, formatDuration } from "./format.ts";

/** The time of now for all relative times of the page, each 10 seconds. */
const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 10_000);

/** A time as how long ago it was; the exact one is in its title. */
export function Ago({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {formatAgo(at, now.value)}
    </time>
  );
}

/** The time that is left until one, counted down each second. */
export function Countdown({ until }: { until: string }) {
  const [current, setCurrent] = useState(Date.now);
  const left = Date.parse(until) - current;
  const isOver = !(left > 0);
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(() => setCurrent(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isOver]);
  return (
    <time class="number" dateTime={until} title={new Date(until).toLocaleString()}>
      {isOver ? "expired" : `expires in ${formatDuration(left < 1_000 ? 1_000 : left)}`}
    </time>
  );
}
