import { describe, expect, it } from "vitest";
import { newMemoryEntrySchema } from "../../../src/memory/entry.ts";
import { countTokens } from "../../../src/models/usage/tokens.ts";
import {
  approximateTokens,
  entryKeys,
  type Extract,
  type FinishedTurn,
  turnEntries,
} from "../../../src/memory/write/turn-entries.ts";

const place = { namespace: ["agents", "support"], threadId: "t-1", instanceId: "i-1" };
const nothing: Extract = { facts: [], summary: null, entities: [] };

const turn: FinishedTurn = {
  run: "run-1",
  startedAt: new Date("2026-11-23T17:00:00Z"),
  endedAt: new Date("2026-11-23T17:00:05Z"),
  agent: "support",
  user: "ann",
  request: "Refund the order of yesterday.",
  attachments: [],
  answer: "Order A-1 is refunded.",
  isIncomplete: false,
  failure: null,
  calls: [],
};

const call = (tool: string, outcome: "success" | "failure" = "success") => ({
  tool,
  arguments: ["id"],
  outcome,
});

/** The content of the episode of a turn. */
function episode(over: Partial<FinishedTurn>, extract: Partial<Extract> = {}): string {
  const entries = turnEntries({ ...turn, ...over }, { ...nothing, ...extract }, place);
  return entries.find(({ memory_type }) => memory_type === "episodic")?.content ?? "";
}

describe("turnEntries", () => {
  it("makes an entry of the request, of the answer, of the episode and of each fact", () => {
    const facts = [
      { text: "I moved last year", source: "user", importance: 0.65, tags: ["preference"] },
    ] as const;
    expect(turnEntries(turn, { ...nothing, facts }, place)).toEqual([
      {
        key: "run-1:i-1:said:0",
        memory_type: "short_term",
        importance: 0.5,
        content: "Refund the order of yesterday (2026-11-22).",
        namespace: ["agents", "support"],
        thread_id: "t-1",
        instance_id: "i-1",
        created_at: "2026-11-23T17:00:00.000Z",
        metadata: {
          turn_id: "run-1",
          tags: [],
          source: "user",
          speaker: "ann",
          entities: expect.arrayContaining(["2026-11-22"]) as unknown,
        },
      },
      expect.objectContaining({
        key: "run-1:i-1:said:1",
        memory_type: "short_term",
        content: "Order A-1 is refunded.",
        created_at: "2026-11-23T17:00:05.000Z",
        metadata: expect.objectContaining({ source: "agent", speaker: "support" }) as unknown,
      }),
      expect.objectContaining({
        key: "run-1:i-1:episode",
        memory_type: "episodic",
        importance: 0.3,
        content:
          "Request: Refund the order of yesterday (2026-11-22).\nOutcome: answered. Order A-1 is refunded.",
        metadata: expect.objectContaining({ source: "agent", tags: ["succeeded"] }) as unknown,
      }),
      expect.objectContaining({
        key: "run-1:i-1:fact:0",
        memory_type: "semantic",
        importance: 0.65,
        content: "I moved last year (2025)",
        metadata: expect.objectContaining({
          source: "user",
          speaker: "ann",
          tags: ["fact", "preference"],
        }) as unknown,
      }),
    ]);
  });

  it("uses keys that depend on the run and its thread alone, and that are listed before", () => {
    const fact = { text: "I live in Bern", source: "user", importance: 0.5, tags: [] } as const;
    const facts = Array.from({ length: 30 }, () => fact);
    const keys = turnEntries(turn, { ...nothing, facts }, place).map(({ key }) => key);
    expect(keys).toEqual(entryKeys("run-1", place));
  });

  it("makes entries that a store takes of any text", () => {
    const text = `\0 \u{D800} ${"x".repeat(40_000)} today`;
    const facts = [
      { text, source: "user", importance: 0.5, tags: [], entities: [text, ""] },
    ] as const;
    const entries = turnEntries(
      { ...turn, request: text, answer: text, user: "\0".repeat(200), agent: text },
      { facts, summary: text, entities: [text] },
      place,
    );
    expect(entries).toHaveLength(4);
    for (const entry of entries) {
      expect(newMemoryEntrySchema.safeParse(entry).error?.issues).toBeUndefined();
    }
  });

  it("makes no entry of an empty text", () => {
    const entries = turnEntries({ ...turn, request: " ", answer: null }, nothing, place);
    expect(entries.map(({ key }) => key)).toEqual(["run-1:i-1:episode"]);
  });

  it("names attachments by their labels", () => {
    const attachments = ["image lamp.png", "PDF plan.pdf"];
    const [said] = turnEntries({ ...turn, request: "Compare.", attachments }, nothing, place);
    expect(said?.content).toBe("Compare.\n[image lamp.png] [PDF plan.pdf]");
    expect(episode({ request: "Compare.", attachments })).toContain(
      "Request: Compare. (with image lamp.png, PDF plan.pdf)",
    );
  });

  it.each([
    [{ calls: [call("search")] }, 0.6, "succeeded"],
    [{}, 0.3, "succeeded"],
    [{ isIncomplete: true }, 0.5, "incomplete"],
    [{ failure: { cause: "turn_timeout", message: "Too slow." }, answer: null }, 0.7, "failed"],
  ])("weighs the episode of %j by its outcome", (over, importance, tag) => {
    const entries = turnEntries({ ...turn, ...over }, nothing, place);
    const [made] = entries.filter(({ memory_type }) => memory_type === "episodic");
    expect(made).toMatchObject({ importance, metadata: { tags: [tag] } });
  });

  it("tells the tools in order with their outcomes, repeated ones once", () => {
    const calls = [call("search"), call("search"), call("refund", "failure"), call("refund")];
    expect(episode({ calls })).toContain("\nTools: search ×2, refund (failure), refund\n");
  });

  it("tells why a turn has failed", () => {
    const failure = { cause: "turn_timeout", message: "The turn took\nmore than 60 s." };
    expect(episode({ failure, answer: null })).toBe(
      "Request: Refund the order of yesterday (2026-11-22).\nOutcome: failed, turn_timeout. The turn took more than 60 s.",
    );
  });

  it("begins the episode with the summary of a model", () => {
    expect(episode({}, { summary: "Ann got a refund\nyesterday." })).toMatch(
      /^Ann got a refund yesterday \(2026-11-22\)\.\nRequest: /,
    );
  });

  it.each([
    "The customer asked about the invoice again. ",
    "Größe übermäßig ärgerlich ",
    "日本語の長い文章",
  ])("keeps an episode of %j within 400 tokens", (part) => {
    const text = part.repeat(500);
    const calls = Array.from({ length: 200 }, (_, at) => call(`tool_${at}`));
    const content = episode({ request: text, answer: text, calls }, { summary: text });
    expect(countTokens(content, "openai:gpt-4o")).toBeLessThanOrEqual(400);
    expect(approximateTokens(content)).toBeLessThanOrEqual(400);
  });
});
