import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { similarity } from "../../../src/models/embeddings/embeddings.ts";
import { createWordEmbeddings } from "../../../src/models/embeddings/word-embeddings.ts";
import { embeddingsContract } from "../../contract/embeddings.ts";

const embeddings = createWordEmbeddings();

async function alike(a: string, b: string): Promise<number> {
  const [first = new Float32Array(), second = new Float32Array()] = await embeddings.embed([a, b]);
  return similarity(first, second);
}

embeddingsContract("createWordEmbeddings", createWordEmbeddings);

describe("createWordEmbeddings", () => {
  it("finds texts alike that mean much the same in other words", async () => {
    const same = await alike("buy a car", "purchase vehicles");
    expect(same).toBeGreaterThan(0.2);
    expect(same).toBeGreaterThan(await alike("buy a car", "symphony orchestra"));
  });

  it("reads the words of identifiers", async () => {
    expect(await alike("getWeatherForecast", "get_weather_forecast")).toBeCloseTo(1, 5);
    expect(await alike("HTMLParser", "html parser")).toBeCloseTo(1, 5);
  });

  it("brings the forms of a word together", async () => {
    expect(await alike("translator", "translations")).toBeGreaterThan(0.6);
  });

  it("reads a joined name that is no word as the words it is joined of", async () => {
    const joined = await alike("airquality", "air quality");
    expect(joined).toBeGreaterThan(0.5);
  });

  it("tells words apart that it does not know, and finds them again", async () => {
    expect(await alike("zorblax", "Zorblax!")).toBeCloseTo(1, 5);
    expect(Math.abs(await alike("zorblax", "quimpf"))).toBeLessThan(0.3);
  });

  it("compares texts of nothing but small words by these", async () => {
    expect(await alike("Who are you?", "who are you")).toBeCloseTo(1, 5);
  });

  it("gives a vector of length 0 for a text without words", async () => {
    expect(await embeddings.embed(["… !? —"])).toEqual([new Float32Array(embeddings.dimensions)]);
  });

  it("gives vectors of length 1 or 0, whatever the text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), async (text) => {
        const length = await alike(text, text);
        expect(Math.min(Math.abs(length), Math.abs(length - 1))).toBeLessThan(1e-5);
      }),
    );
  });

  it("does not mind the order of words", async () => {
    const words = fc.array(fc.constantFrom("red", "car", "getUser", "zorblax", "42"), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(words, async (some) => {
        expect(await alike(some.join(" "), some.toReversed().join(" "))).toBeCloseTo(1, 5);
      }),
    );
  });
});
