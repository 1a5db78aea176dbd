import { signal } from "@preact/signals";
import { formatAgo } from "./format.ts";

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
      {formatAgo(at, Math.max(now.value, Date.parse(at) > now.value ? 0 : now.value))}
    </time>
  );
}
