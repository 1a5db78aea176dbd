import { describe, expect, it } from "vitest";
import { similarity, type Embeddings } from "../../src/models/embeddings/embeddings.ts";

/** What every implementation of the port does. */
export function embeddingsContract(name: string, create: () => Embeddings): void {
  const lengthOf = (vector: Float32Array) => Math.sqrt(similarity(vector, vector));

  describe(`${name} as embeddings`, () => {
    it("names itself and says how many numbers a vector has", () => {
      const { id, dimensions } = create();
      expect(id).not.toBe("");
      expect(create().id).toBe(id);
      expect(dimensions).toBeGreaterThan(0);
    });

    it("gives one vector of length 1 for each text, in order", async () => {
      const embeddings = create();
      const texts = ["book a flight", "weather tomorrow", "translate this letter"];
      const vectors = await embeddings.embed(texts);
      expect(vectors.map((vector) => vector.length)).toEqual(
        texts.map(() => embeddings.dimensions),
      );
      for (const vector of vectors) expect(lengthOf(vector)).toBeCloseTo(1, 5);
      const reversed = await embeddings.embed(texts.toReversed());
      expect(reversed).toEqual(vectors.toReversed());
    });

    it("gives the same vector for the same text, however often it is asked for", async () => {
      const embeddings = create();
      const [first, , again] = await embeddings.embed(["a red car", "something else", "a red car"]);
      expect(again).toEqual(first);
      expect(await create().embed(["a red car"])).toEqual([first]);
    });

    it("gives a vector of length 0 for an empty text", async () => {
      const [empty, full] = await create().embed(["", "a red car"]);
      expect(empty).toEqual(new Float32Array(create().dimensions));
      expect(lengthOf(full ?? new Float32Array())).toBeCloseTo(1, 5);
    });

    it("gives nothing for no texts", async () => {
      expect(await create().embed([])).toEqual([]);
    });

    it("stops with the reason of a signal that has aborted", async () => {
      const reason = new Error("enough");
      const signal = AbortSignal.abort(reason);
      await expect(create().embed(["a red car"], { signal })).rejects.toBe(reason);
    });
  });
}
