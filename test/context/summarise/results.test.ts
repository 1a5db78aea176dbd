import { describe, expect, it } from "vitest";
import { createResultSummaryCache } from "../../../src/context/summarise/result-summary.ts";
import {
  summariseResults,
  type AskForSummary,
  type SummariseOptions,
} from "../../../src/context/summarise/results.ts";
import { noUsage } from "../../../src/state/usage.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { toolResult } from "../../helpers/step-record.ts";

/** A token a word. */
const count = (text: string) => text.split(/\s+/).filter(Boolean).length;
const profile = { ref: "test:model", window: 8000, count };
const usage = { ...noUsage, tokens_in: 500, tokens_out: 20, llm_calls: 1, cost_usd: 0.002 };

const large = (id: string, word = id) => toolResult({ id, result: `${word} `.repeat(500).trim() });

/** Answers with the first word of the result. */
function asking(over: (text: string, signal: AbortSignal) => string | Promise<string> = () => "") {
  const asked: string[] = [];
  let underWay = 0;
  const most = { atOnce: 0 };
  const ask: AskForSummary = async (messages, signal) => {
    const text = messages.at(-1)?.text ?? "";
    asked.push(text);
    underWay += 1;
    most.atOnce = Math.max(most.atOnce, underWay);
    try {
      const said = await over(text, signal);
      return { text: said || `about ${wordIn(text)}`, usage, model: "test:small" };
    } finally {
      underWay -= 1;
    }
  };
  return { ask, asked, most };
}

/** Until nothing more happens by itself. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const wordIn = (text: string) => /Result:\n(\w+)/.exec(text)?.[1] ?? "";

const optionsWith = (over: Partial<SummariseOptions>): SummariseOptions => ({
  results: [],
  goal: "planning",
  question: "Which flights are there?",
  ask: asking().ask,
  profile,
  thresholdTokens: 150,
  timeoutMs: 15_000,
  clock: new ManualClock(),
  cache: createResultSummaryCache(),
  ...over,
});

describe("large results", () => {
  it("are told in a model's words; small and failed ones are not asked about", async () => {
    const { ask, asked } = asking();
    const clock = new ManualClock();
    const failed = { ...large("c"), outcome: "failure" as const, error: "no" };
    const { summaries, made } = await summariseResults(
      optionsWith({
        ask,
        clock,
        results: [large("a"), toolResult({ id: "b" }), failed, large("d")],
      }),
    );
    expect([...summaries]).toEqual([
      ["a", "about a"],
      ["d", "about d"],
    ]);
    expect(asked).toHaveLength(2);
    expect(clock.pending).toBe(0);
    expect(made).toEqual(
      ["a", "d"].map((callId) => ({
        callId,
        model: "test:small",
        outcome: "made",
        latencyMs: 0,
        tokensIn: 500,
        tokensOut: 20,
        costUsd: 0.002,
      })),
    );
  });

  it("are asked about with the goal and the question, as data at the end", async () => {
    const { ask, asked } = asking();
    await summariseResults(optionsWith({ ask, results: [large("a", "bee")] }));
    expect(asked[0]).toBe(
      [
        "Extract from this tool result what matters for the goal and the question, in at most 142 words.",
        "Keep names, numbers, dates, ids, URLs, paths and messages exactly as they stand there, and say how much there is of what you leave out. Say nothing that is not in it. Reply with the extract alone, as plain text.",
        "",
        'Tool: search(query="python tutorial")',
        "Goal: choose the next step towards an answer",
        "Question: Which flights are there?",
        `Result:\n${"bee ".repeat(500).trim()}`,
      ].join("\n"),
    );
  });

  it("are read as far as half of the model's window goes", async () => {
    const { ask, asked } = asking();
    const result = `first ${"bee ".repeat(3000)}last`;
    const results = [toolResult({ id: "a", result })];
    await summariseResults(optionsWith({ ask, results, profile: { ...profile, window: 1000 } }));
    const read = asked[0]?.split("Result:\n")[1] ?? "";
    expect(count(read)).toBeLessThanOrEqual(500);
    expect(read).toMatch(/^first [^]*\n… \[cut: [\d,]+ characters\]\n[^]* last$/);
  });

  it("are told in at most half of their length", async () => {
    const { ask } = asking(() => "word ".repeat(1000));
    const { summaries } = await summariseResults(
      optionsWith({ ask, results: [toolResult({ id: "a", result: "bees ".repeat(200).trim() })] }),
    );
    expect(summaries.get("a")).toBe(`${"word ".repeat(100).trim()}… [cut: 4,500 more characters]`);
  });

  it("are asked about four at a time", async () => {
    const { ask, most } = asking(() => Promise.resolve(""));
    const results = Array.from({ length: 11 }, (_, at) => large(`r${at}`));
    const { made } = await summariseResults(optionsWith({ ask, results }));
    expect(most.atOnce).toBe(4);
    expect(made.map(({ callId }) => callId)).toEqual(results.map(({ id }) => id));
  });
});

describe("a summary that was made before", () => {
  it("is free for the same content, goal and question, and for nothing else", async () => {
    const { ask, asked } = asking();
    const cache = createResultSummaryCache();
    const outcomes = async (over: Partial<SummariseOptions>) => {
      const options = { ask, cache, results: [large("a", "bee")], ...over };
      const { made } = await summariseResults(optionsWith(options));
      return made.map(({ outcome, costUsd }) => [outcome, costUsd]);
    };
    expect(await outcomes({})).toEqual([["made", 0.002]]);
    expect(await outcomes({})).toEqual([["cached", 0]]);
    expect(await outcomes({ results: [large("other", "bee")] })).toEqual([["cached", 0]]);
    expect(await outcomes({ goal: "synthesis" })).toEqual([["made", 0.002]]);
    expect(await outcomes({ question: "And trains?" })).toEqual([["made", 0.002]]);
    expect(await outcomes({ results: [large("a", "wasp")] })).toEqual([["made", 0.002]]);
    expect(asked).toHaveLength(4);
  });

  it("is shared by those who ask for it at the same time", async () => {
    const { ask, asked } = asking(() => Promise.resolve(""));
    const cache = createResultSummaryCache();
    const options = optionsWith({ ask, cache, results: [large("a", "bee"), large("b", "bee")] });
    const both = await Promise.all([summariseResults(options), summariseResults(options)]);
    expect(both.map(({ made }) => made.map(({ outcome }) => outcome))).toEqual([
      ["made", "cached"],
      ["cached", "cached"],
    ]);
    expect(both.map(({ summaries }) => [...summaries.values()])).toEqual([
      ["about bee", "about bee"],
      ["about bee", "about bee"],
    ]);
    expect(asked).toHaveLength(1);
  });

  it("is asked for again where whoever asked for it was stopped", async () => {
    const stop = new AbortController();
    let calls = 0;
    const { ask } = asking(() => ((calls += 1) === 1 ? new Promise<never>(() => {}) : ""));
    const shared = { ask, cache: createResultSummaryCache(), results: [large("a")] };
    const first = summariseResults(optionsWith({ ...shared, signal: stop.signal }));
    const second = summariseResults(optionsWith(shared));
    stop.abort(new Error("cancelled"));
    await expect(first).rejects.toThrow("cancelled");
    expect((await second).summaries.get("a")).toBe("about a");
    expect(calls).toBe(2);
  });
});

describe("a summary that is not made", () => {
  it("leaves the others, and is not asked for again", async () => {
    const { ask, asked } = asking((text) => {
      if (wordIn(text) === "b") throw new Error("outage");
      return wordIn(text) === "c" ? " \n" : "";
    });
    const cache = createResultSummaryCache();
    const results = [large("a"), large("b"), large("c")];
    const first = await summariseResults(optionsWith({ ask, cache, results }));
    expect([...first.summaries.keys()]).toEqual(["a"]);
    expect(first.made.map((one) => [one.outcome, one.model, one.tokensIn])).toEqual([
      ["made", "test:small", 500],
      ["failed", "test:model", 0],
      ["failed", "test:small", 500],
    ]);
    const again = await summariseResults(optionsWith({ ask, cache, results }));
    expect(again.made.map(({ outcome }) => outcome)).toEqual(["cached", "failed", "failed"]);
    expect(asked).toHaveLength(3);
  });

  it("is given up when the time of all is over, and its call is ended", async () => {
    const clock = new ManualClock();
    const signals: AbortSignal[] = [];
    const { ask, asked } = asking((text, signal) => {
      signals.push(signal);
      return wordIn(text) === "r0" ? "" : new Promise<never>(() => {});
    });
    const cache = createResultSummaryCache();
    const results = Array.from({ length: 6 }, (_, at) => large(`r${at}`));
    const options = optionsWith({ ask, cache, clock, results, timeoutMs: 9000 });
    const summarising = summariseResults(options);
    await settled();
    clock.advance(9000);
    const { summaries, made } = await summarising;
    expect([...summaries]).toEqual([["r0", "about r0"]]);
    expect(made.map(({ outcome }) => outcome)).toEqual(["made", ...Array(5).fill("timeout")]);
    expect(made.map(({ latencyMs }) => latencyMs)).toEqual([0, 9000, 9000, 9000, 9000, 0]);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    expect(clock.pending).toBe(0);
    // One that was never asked for has its turn next time; those that had their time do not.
    const before = asked.length;
    const next = summariseResults(options);
    await settled();
    clock.advance(9000);
    await next;
    expect(asked.slice(before).map(wordIn)).toEqual(["r5"]);
  });

  it("throws the reason when the run is stopped", async () => {
    const stop = new AbortController();
    const { ask } = asking(() => new Promise<never>(() => {}));
    const cache = createResultSummaryCache();
    const options = optionsWith({ ask, cache, results: [large("a")], signal: stop.signal });
    const summarising = summariseResults(options);
    stop.abort(new Error("cancelled"));
    await expect(summarising).rejects.toThrow("cancelled");
    await expect(summariseResults(options)).rejects.toThrow("cancelled");
    expect(cache.underWay.size).toBe(0);
    const { made } = await summariseResults({ ...options, ask: asking().ask, signal: undefined });
    expect(made[0]?.outcome).toBe("made");
  });
});
