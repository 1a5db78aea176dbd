import { EmbeddingError, type Embeddings } from "../../src/models/embeddings/embeddings.ts";

/** Embeddings with given cosines, which count their calls and fail on command. */
export interface AngleEmbeddings extends Embeddings {
  /** The texts of every call. */
  readonly calls: (readonly string[])[];
  /** Calls that hold one of these texts fail. */
  readonly broken: Set<string>;
}

/**
 * The cosine of two texts with cosines a and b to a common direction that are given as `[direction, cosine]`: 1 to the
 * direction itself is `[direction, 1]`. A text that is not given has a direction of its own.
 */
export function angleEmbeddings(
  texts: Readonly<Record<string, readonly [direction: string, cosine: number]>> = {},
): AngleEmbeddings {
  const dimensions = 128;
  const axes = new Map<string, number>();
  const axis = (name: string): number => {
    const known = axes.get(name) ?? axes.size;
    axes.set(name, known);
    return known;
  };
  const calls: (readonly string[])[] = [];
  const broken = new Set<string>();
  return {
    id: "test:angles",
    dimensions,
    calls,
    broken,
    async embed(given) {
      calls.push(given);
      if (given.some((text) => broken.has(text))) {
        throw new EmbeddingError("The service does not respond.", "test:angles");
      }
      return given.map((text) => {
        const [direction, cosine] = texts[text] ?? [text, 1];
        const vector = new Float32Array(dimensions);
        vector[axis(direction)] = cosine;
        if (cosine < 1)
          vector[axis(`away from ${direction}, ${text}`)] = Math.sqrt(1 - cosine ** 2);
        return vector;
      });
    },
  };
}
