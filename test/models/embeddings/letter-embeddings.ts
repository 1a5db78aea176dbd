import type { LangChainEmbeddings } from "../../../src/models/embeddings/langchain-embeddings.ts";

/** Counts the letters a to z, as a service would: it refuses empty texts. */
export const letterEmbeddings: LangChainEmbeddings = {
  async embedDocuments(texts) {
    if (texts.includes("")) throw new Error("input must not be empty");
    return texts.map((text) =>
      Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => text.split(letter).length - 1),
    );
  },
};
