import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";

/** Embeddings that keep their vectors in a file, a line of JSON for each text, so that a second run embeds nothing. */
export function storedEmbeddings(embeddings: Embeddings, file: string): Embeddings {
  const known = new Map<string, Float32Array>();
  for (const line of existsSync(file) ? readFileSync(file, "utf8").split("\n") : []) {
    if (line === "") continue;
    const { t: text, v: encoded } = JSON.parse(line) as { t: string; v: string };
    known.set(text, new Float32Array(new Uint8Array(Buffer.from(encoded, "base64")).buffer));
  }
  return {
    id: embeddings.id,
    dimensions: embeddings.dimensions,
    async embed(texts, options) {
      const missing = [...new Set(texts)].filter((text) => !known.has(text));
      const vectors = missing.length === 0 ? [] : await embeddings.embed(missing, options);
      for (const [at, text] of missing.entries()) {
        const vector = vectors[at] ?? new Float32Array(embeddings.dimensions);
        known.set(text, vector);
        const encoded = Buffer.from(new Float32Array(vector).buffer).toString("base64");
        appendFileSync(file, `${JSON.stringify({ t: text, v: encoded })}\n`);
      }
      return texts.map((text) => known.get(text) ?? new Float32Array(embeddings.dimensions));
    },
  };
}
