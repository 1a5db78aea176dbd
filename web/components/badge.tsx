import { type Tone, toneOf } from "./tone.ts";

export { type Tone, toneOf } from "./tone.ts";

/** A status with its colour. The text says it too. */
export function Badge({ status, tone = toneOf(status) }: { status: string; tone?: Tone }) {
  return (
    <span class={`badge ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {status.toLowerCase().replaceAll("_", " ")}
    </span>
  );
}
