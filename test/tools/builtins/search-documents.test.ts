import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { searchDocumentsTool } from "../../../src/tools/builtins/search-documents.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";

interface Found {
  readonly total: number;
  readonly passages: readonly {
    readonly id: string;
    readonly title?: string;
    readonly start: number;
    readonly text: string;
    readonly score: number;
  }[];
}

const search = async (args: Record<string, unknown>) =>
  (await callBuiltin(searchDocumentsTool, args)).result as unknown as Found;

const documents = [
  { id: "cats", title: "Cats", text: "A cat sleeps for most of the day. It purrs." },
  { id: "dogs", title: "Dogs", text: "A dog sleeps at night. It barks at the cat next door." },
  { text: "Invoices are paid within thirty days." },
];

describe("search_documents", () => {
  it("gives the passages that share words with the query, the best first", async () => {
    const { passages, total } = await search({ query: "When are invoices paid?", documents });
    expect(passages).toEqual([
      {
        id: "3",
        start: 0,
        text: "Invoices are paid within thirty days.",
        score: expect.any(Number),
      },
    ]);
    expect(total).toBe(1);
    const cats = await search({ query: "cats", documents });
    expect(cats.passages.map(({ id }) => id)).toEqual(["cats", "dogs"]);
    expect(cats.passages[0]?.score).toBeGreaterThan(cats.passages[1]?.score ?? Infinity);
  });

  it("gives no more than asked for, and says how many there are", async () => {
    const { passages, total } = await search({ query: "sleeps", documents, top_k: 1 });
    expect([passages.length, total]).toEqual([1, 2]);
  });

  it("finds the passage of a long document, and where it begins", async () => {
    const filler = "Nothing of note happens in this sentence. ".repeat(100);
    const text = `${filler}\n\nThe zeppelin landed in Friedrichshafen.\n\n${filler}`;
    const { passages } = await search({ query: "zeppelin", documents: [{ text }] });
    expect(passages).toHaveLength(1);
    const [found] = passages;
    expect(found?.text).toContain("The zeppelin landed");
    expect(found?.text.length).toBeLessThanOrEqual(800);
    expect(text.startsWith(found?.text ?? "?", found?.start)).toBe(true);
  });

  it("finds by title, without accents or letter case, and in scripts without spaces", async () => {
    expect(
      (await search({ query: "report", documents: [{ title: "Report", text: "" }] })).total,
    ).toBe(1);
    expect((await search({ query: "ZAZOŁC", documents: [{ text: "zażółć" }] })).total).toBe(1);
    expect((await search({ query: "CAFE", documents: [{ text: "le café" }] })).total).toBe(1);
    expect(
      (await search({ query: "東京", documents: [{ text: "私は東京に住んでいます" }] })).total,
    ).toBe(1);
  });

  it("finds nothing where no word is shared", async () => {
    expect(await search({ query: "submarine", documents })).toEqual({ passages: [], total: 0 });
  });

  it("leaves out no word of a document, and repeats none", async () => {
    const text = fc.array(fc.constantFrom("word ", "end. ", "\n", "\n\n", "🌍 ", "longword"), {
      maxLength: 900,
    });
    await fc.assert(
      fc.asyncProperty(text, async (parts) => {
        const whole = `${parts.join("")} word`;
        // The title makes a hit of every passage.
        const { passages } = await search({
          query: "key",
          documents: [{ title: "key", text: whole }],
          top_k: 50,
        });
        const inOrder = passages.toSorted((a, b) => a.start - b.start);
        expect(
          inOrder
            .map(({ text: part }) => part)
            .join("")
            .replaceAll(/\s/g, ""),
        ).toBe(whole.replaceAll(/\s/g, ""));
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    [{ query: "?!", documents }, "The query has no words."],
    [
      { query: "a", documents: [{ text: "x".repeat(4 * 1024 * 1024 + 1) }] },
      "The documents have 4,194,305 characters; up to 4,194,304 are searched.",
    ],
  ])("fails for a search that cannot be made (case %#)", async (args, error) => {
    expect(await callBuiltin(searchDocumentsTool, args)).toEqual({
      outcome: "failure",
      result: null,
      error,
    });
  });
});
