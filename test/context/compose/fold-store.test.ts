import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { ContextFold, FoldStore } from "../../../src/context/compose/context-fold.ts";
import { cheapMeasure } from "../../../src/context/compose/sizes.ts";
import { nothingShortened } from "../../../src/context/compose/step-variant.ts";
import { noneObserved } from "../../../src/context/step-note.ts";
import type { Entry } from "../../../src/context/transcript.ts";
import type { StepRecord } from "../../../src/state/step-record.ts";
import { collectGarbage } from "../../helpers/collect-garbage.ts";
import { stepRecord } from "../../helpers/step-record.ts";

const count = (text: string): number => text.length;
const kind = { key: "planning", count };

/** What was said on a thread of its own. */
function said(length: number): readonly Entry[] {
  return Array.from({ length }, (_, at): Entry => {
    const message = new HumanMessage(`message ${at}`);
    return { kind: "spoken", turn: at, message, isRequest: true };
  });
}

function foldOf(entries: readonly Entry[]): ContextFold {
  const fold = new ContextFold({
    rendering: {
      form: "native",
      settled: nothingShortened,
      preview: nothingShortened,
      largest: Infinity,
      summaries: new Map(),
    },
    room: {
      tokens: Infinity,
      low: Infinity,
      keepsTurn: true,
      keepsLast: true,
      shortTerm: undefined,
    },
    measure: cheapMeasure,
    part: null,
  });
  for (const _ of fold.grow(entries, noneObserved));
  return fold;
}

function kept(store: FoldStore, entries: readonly Entry[], as = kind): ContextFold {
  const fold = foldOf(entries);
  store.put(as, fold);
  return fold;
}

/** A step without calls. */
function stepped(over: Partial<StepRecord> = {}): Entry {
  return { kind: "step", turn: 0, step: { ...thinking, ...over } };
}
const thinking = stepRecord({ thought: "I look." });

const take = (store: FoldStore, entries: readonly Entry[], as = kind) =>
  store.take(as, entries, noneObserved);

describe("FoldStore", () => {
  it("gives a fold whose last step was reflected on since, but none whose step was edited", () => {
    const store = new FoldStore(100);
    const before = said(3);
    const fold = kept(store, [...before, stepped()]);
    expect(take(store, [...before, stepped({ thought: "I see." })])).toBeUndefined();
    const reflected = [...before, stepped({ reflection: "It went well." })];
    expect(take(store, reflected)).toBe(fold);
    expect(fold.entries).toEqual(reflected);
  });

  it("gives a fold for entries that go on from its own, to one caller at a time", () => {
    const store = new FoldStore(100);
    const entries = said(5);
    const fold = kept(store, entries.slice(0, 3));
    expect(take(store, entries)).toBe(fold);
    expect(take(store, entries)).toBeUndefined();
    store.put(kind, fold);
    expect(take(store, entries)).toBe(fold);
  });

  it("gives none of another kind, of other entries or of more", () => {
    const store = new FoldStore(100);
    const entries = said(5);
    const other = said(5);
    kept(store, entries);
    expect(take(store, entries, { ...kind, key: "synthesis" })).toBeUndefined();
    expect(take(store, entries, { ...kind, count: (text) => count(text) })).toBeUndefined();
    expect(take(store, [...entries.slice(0, 4), ...other])).toBeUndefined();
    expect(take(store, entries.slice(0, 4))).toBeUndefined();
    expect(take(store, entries)).toBeDefined();
  });

  it("gives the longest of those that fit", () => {
    const store = new FoldStore(100);
    const entries = said(5);
    const [short, long] = [kept(store, entries.slice(0, 2)), kept(store, entries.slice(0, 4))];
    expect(take(store, entries)).toBe(long);
    expect(take(store, entries)).toBe(short);
  });

  it("keeps the last used ones, up to a number of entries", () => {
    const store = new FoldStore(10);
    const [first, second, third] = [said(4), said(4), said(4)];
    kept(store, first);
    kept(store, second);
    store.put(kind, take(store, first) as ContextFold);
    kept(store, third);
    expect(store.size).toBe(2);
    expect(take(store, second)).toBeUndefined();
    expect(take(store, first)).toBeDefined();
    expect(take(store, third)).toBeDefined();
    expect(store.size).toBe(0);
  });

  it("keeps sixteen of one thread", () => {
    const store = new FoldStore(1000);
    const entries = said(2);
    for (let at = 0; at < 20; at += 1) kept(store, entries, { ...kind, key: `room ${at}` });
    expect(store.size).toBe(16);
    expect(take(store, entries, { ...kind, key: "room 3" })).toBeUndefined();
    expect(take(store, entries, { ...kind, key: "room 4" })).toBeDefined();
  });

  it("keeps a fold that is larger than all may be, until the next one", () => {
    const store = new FoldStore(3);
    const large = said(5);
    kept(store, large);
    expect(store.size).toBe(1);
    kept(store, said(1));
    expect(store.size).toBe(1);
    expect(take(store, large)).toBeUndefined();
  });

  it("lets go of a thread that is held nowhere else", async () => {
    const store = new FoldStore(100);
    const held = said(3);
    kept(store, held);
    for (let at = 0; at < 5; at += 1) kept(store, said(3));
    expect(store.size).toBe(6);
    await collectGarbage();
    expect(store.size).toBe(1);
    expect(take(store, held)).toBeDefined();
  });
});
