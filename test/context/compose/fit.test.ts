import { describe, expect, it } from "vitest";
import {
  HistoryFitter,
  level,
  type Level,
  type Room,
  type Sized,
} from "../../../src/context/compose/fit.ts";

/** Tokens of an entry when it is told in each way. */
const sizes = {
  step: [100, 80, 40, 20, 15, 20, 10, 0],
  spoken: [50, 50, 50, 50, 50, 15, 5, 0],
  fixed: [30, 30, 30, 30, 30, 30, 30, 0],
} as const;

function entry(kind: Sized["kind"], turn: number, over: Partial<Sized> = {}): Sized {
  return {
    kind,
    turn,
    isRequest: false,
    openUntil: -1,
    size: (as) => sizes[kind][as],
    ...over,
  };
}

const ask = (turn: number) => entry("spoken", turn, { isRequest: true });
const said = (turn: number) => entry("spoken", turn);
const step = (turn: number, over: Partial<Sized> = {}) => entry("step", turn, over);

function fitted(entries: readonly Sized[], over: Partial<Room> = {}) {
  const room: Room = {
    tokens: 1000,
    low: 700,
    keepsTurn: false,
    keepsLast: true,
    shortTerm: undefined,
    ...over,
  };
  const fitting = new HistoryFitter(entries, room);
  while (fitting.grow());
  return fitting;
}

const names = Object.fromEntries(Object.entries(level).map(([name, as]) => [as, name]));
const levelsOf = (entries: readonly Sized[], over: Partial<Room> = {}) =>
  fitted(entries, over).levels.map((as: Level) => names[as]);

/** As a history that has come to its end before anything had to be shortened. */
function shortened(entries: readonly Sized[], tokens: number) {
  const fitting = fitted(entries);
  fitting.shorten(tokens, entries.length);
  return fitting.levels.map((as) => names[as]);
}

describe("Fitting", () => {
  it("settles a step when the next one comes", () => {
    const entries = [said(0), step(0), step(0)];
    expect(levelsOf(entries)).toEqual(["whole", "settled", "whole"]);
    expect(levelsOf(entries, { keepsTurn: true })).toEqual(["whole", "whole", "whole"]);
    expect(levelsOf([...entries, said(1)], { keepsTurn: true })).toEqual([
      "whole",
      "settled",
      "settled",
      "whole",
    ]);
  });

  it("adds up the tokens of what it has", () => {
    expect(fitted([said(0), step(0), step(0)]).tokens).toBe(50 + 80 + 100);
  });

  it("shortens old results first, the oldest before the others, and stops at the low mark", () => {
    const entries = [said(0), step(0), step(0), step(0), step(0)];
    expect(levelsOf(entries, { tokens: 389, low: 360 })).toEqual([
      "whole",
      "preview",
      "settled",
      "settled",
      "whole",
    ]);
  });

  it("has lines before it takes words from old turns, and words before facts", () => {
    const entries = [ask(0), step(0), said(0), ask(1), step(1), step(1)];
    const at = (tokens: number) => shortened(entries, tokens);
    expect(at(340)).toEqual(["whole", "preview", "whole", "whole", "preview", "whole"]);
    expect(at(300)).toEqual(["whole", "line", "whole", "whole", "line", "whole"]);
    expect(at(220)).toEqual(["digest", "digest", "digest", "whole", "line", "whole"]);
    expect(at(195)).toEqual(["brief", "brief", "brief", "whole", "line", "whole"]);
    expect(at(185)).toEqual(["brief", "brief", "brief", "whole", "short", "whole"]);
    expect(at(180)).toEqual(["dropped", "brief", "brief", "whole", "short", "whole"]);
    expect(at(150)).toEqual(["dropped", "dropped", "dropped", "whole", "dropped", "whole"]);
  });

  it("never drops the request, the last step or a step whose error is open", () => {
    const entries = [step(0, { openUntil: Infinity }), step(0), said(0), ask(1), step(1), step(1)];
    expect(shortened(entries, 1)).toEqual([
      "brief",
      "dropped",
      "dropped",
      "whole",
      "dropped",
      "whole",
    ]);
  });

  it("drops a step once its error is mended", () => {
    const entries = [step(0, { openUntil: 1 }), step(0), step(0)];
    expect(shortened(entries, 100)[0]).toBe("dropped");
  });

  it("keeps a step whose error is mended only by an entry that it does not shorten", () => {
    const fitting = fitted([step(0, { openUntil: 3 }), step(0), step(0), step(0)]);
    fitting.shorten(1, 3);
    expect(fitting.levels).toEqual([level.short, level.dropped, level.dropped, level.whole]);
    fitting.shorten(1, 4);
    expect(fitting.levels[0]).toBe(level.dropped);
  });

  it("leaves nothing out for a last step that has more than half of the room", () => {
    const entries = [ask(0), step(0), said(0), ask(1), step(1)];
    expect(levelsOf(entries, { tokens: 190, low: 100 })).toEqual([
      "brief",
      "brief",
      "brief",
      "whole",
      "whole",
    ]);
    expect(fitted(entries, { tokens: 190, low: 100 }).isLastLarge).toBe(true);
  });

  it("drops entries of the turn under way no further than the room needs", () => {
    const earlier = [ask(0), step(0), said(0)];
    const present = [ask(1), ...Array.from({ length: 20 }, () => step(1))];
    const { levels, tokens } = fitted([...earlier, ...present], { tokens: 400, low: 300 });
    expect(levels.slice(0, 3)).toEqual([level.dropped, level.dropped, level.dropped]);
    expect(tokens).toBeGreaterThan(0.95 * 400 - 15);
  });

  it("shortens the last step once an answer follows it", () => {
    const entries = [ask(0), step(0), step(0), said(0)];
    const room = { tokens: 260, low: 150, keepsTurn: true };
    expect(levelsOf(entries, room)).toEqual(["whole", "preview", "preview", "whole"]);
  });

  it("previews the last step too if it keeps none whole", () => {
    const entries = [ask(0), step(0), step(0)];
    expect(levelsOf(entries, { keepsLast: false })).toEqual(["whole", "settled", "settled"]);
  });

  it("is the same however far the history had grown before", () => {
    const entries = Array.from({ length: 40 }, (_, at) =>
      at % 4 === 0 ? ask(at >> 2) : at % 4 === 3 ? said(at >> 2) : step(at >> 2),
    );
    const room = { tokens: 600, low: 400 };
    const before = fitted(entries.slice(0, -1), room);
    const after = fitted(entries, room);
    expect(after.moves).toBeLessThanOrEqual(before.moves + 1);
    expect(after.tokens).toBeLessThanOrEqual(600);
  });

  describe("with a limit for earlier turns", () => {
    const entries = [said(0), step(0), said(0), said(1), step(1), said(1), ask(2)];
    const told = (strategy: "fifo" | "summarize" | "hybrid", maxTokens: number) =>
      levelsOf(entries, { shortTerm: { strategy, maxTokens }, tokens: 5000, low: 5000 });

    it("leaves them as they are while they are within it", () => {
      expect(told("fifo", 360)).toEqual(
        Array(7).fill("whole").with(1, "settled").with(4, "settled"),
      );
    });

    it("drops the oldest entries under fifo", () => {
      expect(told("fifo", 300)).toEqual([
        "dropped",
        "dropped",
        "dropped",
        "whole",
        "settled",
        "whole",
        "whole",
      ]);
    });

    it("shortens results before it takes words under hybrid", () => {
      expect(told("hybrid", 350)).toEqual([
        "digest",
        "digest",
        "digest",
        "whole",
        "line",
        "whole",
        "whole",
      ]);
    });

    it("takes words of the oldest turns at once under summarize", () => {
      expect(told("summarize", 350)).toEqual([...Array(6).fill("digest"), "whole"]);
    });
  });
});
