/** The meaning of a status: one colour each. */
export type Tone = "good" | "wait" | "bad" | "live" | "idle";

const tones: readonly (readonly [RegExp, Tone])[] = [
  [/^(?:complete|completed|success|succeeded|done|finished|active|ok)/i, "good"],
  [/^(?:awaiting|waiting|interrupted|paused|asked|needs)/i, "wait"],
  [/^(?:failed|failure|error|dead|timeout|aborted|stuck|lost)/i, "bad"],
  [/^(?:running|executing|planning|reasoning|acting|reflecting|started|live)/i, "live"],
];

/** Returns the tone of a status of a run, thread, step, call, subtask or worker. */
export function toneOf(status: string): Tone {
  return tones.find(([pattern]) => pattern.test(status))?.[1] ?? "idle";
}
