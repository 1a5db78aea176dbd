import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { describe, expect, it } from "vitest";
import { EmbeddingError } from "../../../src/models/embeddings/embeddings.ts";
import { fromLangChainEmbeddings } from "../../../src/models/embeddings/langchain-embeddings.ts";
import { embeddingsContract } from "../../contract/embeddings.ts";
import { letterEmbeddings } from "./letter-embeddings.ts";

embeddingsContract("fromLangChainEmbeddings", () =>
  fromLangChainEmbeddings(letterEmbeddings, { id: "letters", dimensions: 26 }),
);

describe("fromLangChainEmbeddings", () => {
  const answering = (answer: unknown) =>
    fromLangChainEmbeddings(
      { embedDocuments: async () => answer as number[][] },
      { id: "test", dimensions: 2 },
    );

  it("takes LangChain's own embeddings, and brings vectors to length 1", async () => {
    const embeddings = fromLangChainEmbeddings(new FakeEmbeddings(), { id: "fake", dimensions: 4 });
    const [vector = []] = await embeddings.embed(["anything"]);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(await answering([[3, 4]]).embed(["x"])).toEqual([Float32Array.of(0.6, 0.8)]);
  });

  it.each([
    ["one vector too few", [[1, 0]], "1 vectors for 2 texts"],
    ["another dimension", [[1], [1]], "vectors of 1 numbers where 2 were expected"],
    [
      "something else than numbers",
      [
        [1, 0],
        [Number.NaN, 0],
      ],
      "something else than numbers",
    ],
    ["no vectors", [null, null], "no vector"],
    ["no list", undefined, "no list"],
  ])("refuses an answer with %s", async (_name, answer, message) => {
    const error = await answering(answer)
      .embed(["a", "b"])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EmbeddingError);
    expect(error).toMatchObject({ code: "embedding", kind: "run", embeddings: "test" });
    expect((error as Error).message).toContain(message);
  });

  it("says which embeddings did not answer, and that later they may", async () => {
    const cause = new Error("503");
    const embeddings = fromLangChainEmbeddings(
      { embedDocuments: () => Promise.reject(cause) },
      { id: "test", dimensions: 2 },
    );
    await expect(embeddings.embed(["a"])).rejects.toMatchObject({
      message: 'The embeddings "test" did not answer: 503',
      transient: true,
      cause,
    });
  });
});
