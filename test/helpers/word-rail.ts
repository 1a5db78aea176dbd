import { defineRail } from "../../src/definition/define-rail.ts";
import type { Rail, RailSubject } from "../../src/definition/rail.ts";
import type { RailVerdict } from "../../src/state/rails.ts";

/** A custom rail that finds a word wherever it stands. */
export function wordRail(
  word: string,
  verdict: RailVerdict,
  on: readonly RailSubject["on"][],
  name = "word",
): Rail {
  return defineRail({
    name,
    on,
    check: ({ text }) => {
      const spans = [...text.matchAll(new RegExp(word, "g"))].map(({ index }) => {
        return { start: index, end: index + word.length, label: "WORD" };
      });
      return spans.length === 0
        ? undefined
        : { verdict, score: 1, spans, reasons: ["it has the word"] };
    },
  });
}
