import { describe, expect, it } from "vitest";
import { scoreText } from "../../../src/guardrails/toxicity/lexicon.ts";

const found = (text: string) =>
  scoreText(text).spans.map(({ start, end }) => text.slice(start, end));

describe("scoreText", () => {
  it("finds words with their places, disguised ones too, as whole words", () => {
    expect(found("What the fuck, this is sh1t and fuuuck!")).toEqual(["fuck", "sh1t", "fuuuck"]);
    expect(found("a shitty day")).toEqual(["shitty"]);
    expect(found("😀 fuck 😀")).toEqual(["fuck"]);
  });

  it.each([
    "I moved from Scunthorpe to Essex for a class assessment.",
    "The tetanus shot and the kung fu lesson are on Uranus street.",
    "Please pass the cocktail to the assistant and analyse the Fagott concert!",
    "This setting will kill your performance, and you should diet.",
    "Restart the server, kill the process and execute the query.",
  ])("finds nothing in harmless words: %s", (text) => {
    expect(scoreText(text)).toEqual({ score: 0, spans: [] });
  });

  it.each(["kill yourself!!", "I'll kill you", "I am GONNA kill you", "kys"])(
    "finds threats: %s",
    (text) => {
      expect(scoreText(text).score).toBeGreaterThan(0.9);
    },
  );

  it("keeps words of medicine, law and names low", () => {
    const text =
      "The form asks for age, sex and origin; Dick Miller wrote of the vagina and the penis.";
    expect(scoreText(text).spans.length).toBeGreaterThan(0);
    expect(scoreText(text).score).toBeLessThan(0.3);
  });

  it("scores the same word higher the less there is beside it, up to 1", () => {
    const short = scoreText("fuck you").score;
    const long = scoreText(`fuck you ${"and then some ".repeat(100)}`).score;
    expect(long).toBeGreaterThanOrEqual(0.6);
    expect(short).toBeGreaterThan(long);
    expect(scoreText("fuck ".repeat(50)).score).toBeLessThanOrEqual(1);
  });
});
