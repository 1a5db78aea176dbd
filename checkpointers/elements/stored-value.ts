import type { Image } from "./image.ts";

/**
 * How a value is written in its checkpoint. Segments stand beside, in the order of `segmentsOf`; of a sequence
 * their number is here, with the hash over its units. Hashes are base64.
 */
export type StoredValue =
  | readonly [kind: "i", text: string]
  | readonly [kind: "b", base64: string, type: string | null]
  | readonly [kind: "e", hash: string]
  | readonly [kind: "l", segments: number, root: string, stride: number]
  | readonly [
      kind: "m",
      segments: number,
      root: string,
      stride: number,
      nested?: Readonly<Record<string, StoredValue>>,
    ];

export function toStoredValue(image: Image): StoredValue {
  switch (image.kind) {
    case "inline":
      return inlineValue(image.data, image.type);
    case "leaf":
      return ["e", image.hash.toString("base64")];
    case "list":
    case "map": {
      const { segments, hashes, stride } = image.sequence;
      const root = hashes.root.toString("base64");
      if (image.kind === "list") return ["l", segments.length, root, stride];
      if (image.nested.size === 0) return ["m", segments.length, root, stride];
      const nested = [...image.nested].map(([key, value]) => [key, toStoredValue(value)] as const);
      return ["m", segments.length, root, stride, Object.fromEntries(nested)];
    }
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function inlineValue(data: Uint8Array, type: string | null): StoredValue {
  if (type === null) {
    try {
      return ["i", decoder.decode(data)];
    } catch {
      // Not text, though the serializer calls it JSON.
    }
  }
  return ["b", Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64"), type];
}
