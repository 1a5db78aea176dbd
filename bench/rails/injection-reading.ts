import { type Candidate, candidatesIn } from "../../src/guardrails/injection/features.ts";
import { type ReadText, readText } from "../../src/guardrails/injection/read-text.ts";
import {
  type InjectionModels,
  type InjectionScore,
  type InjectionSide,
  scoringOfRead,
  type SeenWindow,
  windowsIn,
} from "../../src/guardrails/injection/score-text.ts";

/** What the models see of a text, read once and kept for all trainings of a run. */
export interface Seen {
  readonly read: ReadText;
  readonly windows: readonly SeenWindow[];
  readonly candidates: readonly Candidate[];
}

const longest = 12_000;
const kept = new Map<string, Seen>();

/** Of a long text only the first 12,000 characters are learned from. */
export function seenIn(text: string): Seen {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const read = finished(readText(text.slice(0, longest)));
  const seen = {
    read,
    windows: [...windowsIn(read)],
    candidates: [...candidatesIn(read.sentences)],
  };
  kept.set(text, seen);
  return seen;
}

export function scoreSeen(
  text: string,
  side: InjectionSide,
  models: InjectionModels,
): InjectionScore {
  return finished(scoringOfRead(seenIn(text).read, { side, models }));
}

/** Runs what would give way to other work to its end. */
function finished<Result>(steps: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
