import { describe, expect, it } from "vitest";
import {
  passFinding,
  type Rail,
  type RailContext,
  type RailSubject,
} from "../../src/definition/rail.ts";
import { RedactionRegistry } from "../../src/guardrails/redaction-registry.ts";
import { unredact } from "../../src/guardrails/redaction.ts";
import { runRails } from "../../src/guardrails/run-rails.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { wordRail } from "../helpers/word-rail.ts";

async function subjectOf(value: unknown, ...before: readonly Rail[]): Promise<RailSubject> {
  const seen: RailSubject[] = [];
  const witness: Rail = {
    name: "witness",
    on: new Set(["output"]),
    onError: "block",
    check: (subject) => {
      seen.push(subject);
      return passFinding;
    },
  };
  const context = { signal: new AbortController().signal } as RailContext;
  const book = new RedactionRegistry({});
  const of = { on: "output", value, tool: null } as const;
  await runRails([...before, witness], of, {
    context: () => context,
    clock: new ManualClock(),
    registry: book,
  });
  const [subject] = seen;
  if (subject === undefined) throw new Error("The rail was not asked.");
  return subject;
}

describe("runRails", () => {
  it("shows a rail the value with its texts", async () => {
    const value = { owner: "Ada", parts: ["a", 3], note: null };
    expect(await subjectOf(value)).toEqual({ on: "output", text: "Ada\na", value, tool: null });
    expect(await subjectOf("Ada")).toMatchObject({ text: "Ada", value: "Ada" });
  });

  it("shows a rail what the former left of the value", async () => {
    const rail = wordRail("Rosebud", "redact", ["output"]);
    expect(await subjectOf({ owner: "Rosebud", age: 3 }, rail)).toMatchObject({
      text: "<WORD_1>",
      value: { owner: "<WORD_1>", age: 3 },
    });
  });

  const run = (value: unknown, rail: Rail, book = new RedactionRegistry({})) =>
    runRails(
      [rail],
      { on: "output", value, tool: null },
      {
        context: () => ({ signal: new AbortController().signal }) as RailContext,
        clock: new ManualClock(),
        registry: book,
        clean: (reason) => reason.replaceAll("word", "…"),
      },
    );

  it("redacts numbers as a whole, and names of properties", async () => {
    const book = new RedactionRegistry({});
    const rail = wordRail("34567", "redact", ["output"]);
    const value = { phone: 1_234_567, "no. 34567": "a" };
    const { value: left } = await run(value, rail, book);
    expect(left).toEqual({ phone: "<WORD_1>", "no. <WORD_2>": "a" });
    expect(unredact(left, book.redactions)).toEqual(value);
  });

  it("reserves marks of every text, also where nothing is found", async () => {
    const book = new RedactionRegistry({});
    await run(["<WORD_1>", { "<WORD_2>": "a" }], wordRail("Rosebud", "redact", ["output"]), book);
    expect(Object.keys(book.redactions)).toEqual(["<WORD_1>", "<WORD_2>"]);
  });

  it("cleans the reasons of rails, in the one that blocks too", async () => {
    const { results, blocked } = await run("Rosebud", wordRail("Rosebud", "block", ["output"]));
    expect(results[0]?.reasons).toEqual(["it has the …"]);
    expect(blocked).toBe(results[0]);
  });
});
