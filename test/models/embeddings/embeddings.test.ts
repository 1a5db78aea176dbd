import { describe, expect, it } from "vitest";
import { cachedEmbeddings, type Embeddings } from "../../../src/models/embeddings/embeddings.ts";
import { fromLangChainEmbeddings } from "../../../src/models/embeddings/langchain-embeddings.ts";
import { embeddingsContract } from "../../contract/embeddings.ts";
import { letterEmbeddings } from "./letter-embeddings.ts";

const letters = () => fromLangChainEmbeddings(letterEmbeddings, { id: "letters", dimensions: 26 });

embeddingsContract("cachedEmbeddings", () => cachedEmbeddings(letters()));

/** Embeddings that note what they are asked; `answer` may fail. */
function noting(answer: (call: number) => void = () => {}): Embeddings & { calls: string[][] } {
  const calls: string[][] = [];
  const inner = letters();
  return {
    ...inner,
    calls,
    async embed(texts) {
      calls.push([...texts]);
      answer(calls.length);
      return inner.embed(texts);
    },
  };
}

describe("cachedEmbeddings", () => {
  it("asks for each text once", async () => {
    const inner = noting();
    const cached = cachedEmbeddings(inner);
    await cached.embed(["a", "b", "a"]);
    await cached.embed(["b", "c"]);
    expect(inner.calls).toEqual([["a", "b"], ["c"]]);
  });

  it("shares one call between those who ask at the same time", async () => {
    const inner = noting();
    const cached = cachedEmbeddings(inner);
    const [first, second] = await Promise.all([cached.embed(["a"]), cached.embed(["a"])]);
    expect(inner.calls).toEqual([["a"]]);
    expect(first[0]).toBe(second[0]);
  });

  it("forgets the text that was asked for longest ago", async () => {
    const inner = noting();
    const cached = cachedEmbeddings(inner, { maxTexts: 2 });
    await cached.embed(["a"]);
    await cached.embed(["b"]);
    await cached.embed(["a"]);
    await cached.embed(["c"]);
    await cached.embed(["a"]);
    await cached.embed(["b"]);
    expect(inner.calls).toEqual([["a"], ["b"], ["c"], ["b"]]);
  });

  it("answers more texts at once than it keeps", async () => {
    const cached = cachedEmbeddings(noting(), { maxTexts: 1 });
    expect(await cached.embed(["a", "b", "c"])).toEqual(await letters().embed(["a", "b", "c"]));
  });

  it("does not remember a failure", async () => {
    const inner = noting((call) => {
      if (call === 1) throw new Error("down");
    });
    const cached = cachedEmbeddings(inner);
    await expect(cached.embed(["a"])).rejects.toThrow("down");
    expect(await cached.embed(["a"])).toEqual(await letters().embed(["a"]));
  });

  it("lets one who waits stop, and others have the answer", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const cached = cachedEmbeddings({
      ...letters(),
      embed: async (texts) => {
        await held;
        return letters().embed(texts);
      },
    });
    const stop = new AbortController();
    const stopped = cached.embed(["a"], { signal: stop.signal });
    const waiting = cached.embed(["a"]);
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(stopped).rejects.toBe(reason);
    release();
    expect(await waiting).toEqual(await letters().embed(["a"]));
  });
});
