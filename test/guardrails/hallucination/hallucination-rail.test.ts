import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hallucinationConfigSchema } from "../../../src/definition/schema/guardrails.ts";
import { hallucinationRail } from "../../../src/guardrails/hallucination/hallucination-rail.ts";
import type { RailContext, RailFinding } from "../../../src/definition/rail.ts";

const request = "Where is my booking?";
const booking =
  '{"reservation_id":"XXDC1M","user":"Sophia Silva","flights":[{"flight_number":"HAT021","price":120,"date":"2024-05-20","origin":"SEA"},{"flight_number":"HAT033","price":185,"date":"2024-05-24","origin":"JFK"}],"status":"confirmed","baggages":3,"fee":1234.5,"at":"2024-05-15T14:30:00"}';

async function check(
  text: string,
  {
    evidence = [request, booking],
    config = {},
    value = { message: text },
  }: { evidence?: string[]; config?: object; value?: unknown } = {},
): Promise<RailFinding> {
  const rail = hallucinationRail(hallucinationConfigSchema.parse(config), { onError: "block" });
  const context: RailContext = {
    signal: new AbortController().signal,
    embeddings: { id: "none", dimensions: 1, embed: () => Promise.resolve([]) },
    request,
    evidence,
    ask: () => Promise.reject(new Error("not to be asked")),
    resolveSecrets: (one) => Promise.resolve(one),
  };
  return await rail.check({ on: "output", text, value, tool: null }, context);
}

describe("the hallucination rail", () => {
  it.each([
    "Your reservation XXDC1M is confirmed.",
    "There are 2 flights: HAT021 and HAT033.",
    "The fee is 1,234.50 euros.",
    "The fee is 1.234,5 Euro.",
    "You fly on May 20, 2024.",
    "You fly on 24.05.2024.",
    "Sophia Silva travels with 3 bags.",
    "It was booked at 2:30 pm.",
    "The total price is $305.",
    "The second flight is $65 more.",
    "Hello! Would you like to change 5 seats?",
    "Let me know if you need anything else.",
    "I am not sure about the meal.",
  ])("lets what the evidence supports or what states nothing pass: %s", async (answer) => {
    expect((await check(answer)).verdict).toBe("pass");
  });

  it.each([
    "Your reservation XXDC2M is confirmed.",
    "The fee is 1,334.50 euros.",
    "You fly on May 21.",
    "You fly on May 20, 2025.",
    "John Miller travels with 3 bags.",
    "It was booked at 2:45 pm.",
    "The total price is $315.",
    'The clerk wrote "no refunds at all".',
    "The flight was cancelled because storms damaged every runway nearby.",
  ])("finds what stands nowhere in it: %s", async (answer) => {
    expect(await check(answer)).toMatchObject({
      verdict: "block",
      spans: [{ label: "UNSUPPORTED" }],
    });
  });

  it("quotes the claim for the next attempt, shortened, and flags where it is told to", async () => {
    const answer = `Thanks for waiting.\n- Flight HAT021, $120\n- Flight HAT044, ${"very ".repeat(45)}late`;
    const found = await check(answer, { config: { action: "flag" } });
    expect(found.verdict).toBe("flag");
    expect(found.reasons).toHaveLength(1);
    expect(found.reasons[0]).toContain('"Flight HAT044, very');
    expect(found.reasons[0]?.length).toBeLessThan(260);
    const [span] = found.spans;
    expect(answer.slice(span?.start, (span?.start ?? 0) + 13)).toBe("Flight HAT044");
  });

  it.each([
    { flights: [{ price: 120 }, { price: 185 }] },
    { totalPrice: 305 },
    { flight_count: 2, bags: 3 },
    { fee: 1234.5, confidence: 0.87 },
    { refund: -120 },
    { average: { price: 152.5 } },
    [185],
  ])(
    "lets the numbers of a structured answer pass that the evidence supports: %j",
    async (value) => {
      expect(await check("", { value })).toMatchObject({ verdict: "pass", spans: [] });
    },
  );

  it.each([
    [{ flights: [{ price: 120 }, { price: 195 }] }, "flights price: 195"],
    [{ totalPrice: 315 }, "total price: 315"],
    [{ nights: 47 }, "nights: 47"],
    [{ fee: 1.2345 }, "fee: 1.2345"],
    [{ refund: -99 }, "refund: -99"],
    [{ price: 305 }, "price: 305"],
    [[777], "777"],
  ])("finds those that stand nowhere in it, however small: %j", async (value, claim) => {
    const found = await check("", { value });
    expect(found).toMatchObject({ verdict: "block", spans: [] });
    expect(found.reasons).toEqual([`Nothing that the tools gave supports: "${claim}"`]);
  });

  it("checks the texts of a structured answer beside its numbers", async () => {
    const value = { note: "Flight HAT044 is late.", price: 121 };
    const found = await check(value.note, { value });
    expect(found.reasons).toHaveLength(2);
    expect(found.spans).toEqual([{ start: 0, end: 22, label: "UNSUPPORTED" }]);
  });

  it("has nothing to check against where no tool was used", async () => {
    for (const evidence of [[], [request], ["", request]]) {
      expect(await check("Bern has 134,000 people.", { evidence })).toMatchObject({
        verdict: "pass",
        score: 0,
      });
    }
  });

  it("always supports an answer that is copied from the evidence", async () => {
    const word = fc.stringMatching(/^[A-Za-z]{2,9}$/);
    const part = fc.oneof(word, fc.nat(99_999).map(String), fc.constantFrom("May 3, 2021", "x_17"));
    const sentence = fc
      .array(part, { minLength: 1, maxLength: 9 })
      .map((all) => `${all.join(" ")}.`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(sentence, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        async (all, pick) => {
          const answer = all[pick % all.length] ?? "";
          expect((await check(answer, { evidence: [request, all.join(" ")] })).verdict).toBe(
            "pass",
          );
        },
      ),
    );
  });

  it("always finds a number of three digits or more that was changed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2100, max: 9_999_999 }),
        fc.integer({ min: 1, max: 1000 }),
        async (number, change) => {
          const say = (value: number) => `The invoice of the customer came to ${value} euros.`;
          const evidence = [request, say(number)];
          expect((await check(say(number), { evidence })).verdict).toBe("pass");
          expect((await check(say(number + change), { evidence })).verdict).toBe("block");
        },
      ),
    );
  });
});
