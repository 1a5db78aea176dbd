import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "../../../src/tools/mcp/stdio-transport.ts";

function split(chunks: readonly (string | Buffer)[], maxBytes = 1_000) {
  const lines: string[] = [];
  const long: [head: string, tail: string][] = [];
  const splitter = new LineSplitter(maxBytes, {
    onLine: (line) => lines.push(line),
    onLongLine: (head, tail) => long.push([head, tail]),
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  return { lines, long };
}

describe("LineSplitter", () => {
  it("gives the same lines however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" }).filter((text) => !/[\r\n]/.test(text))),
        fc.array(fc.nat({ max: 40 })),
        (lines, lengths) => {
          let rest = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const chunks = lengths.map((length) => {
            const chunk = rest.subarray(0, length);
            rest = rest.subarray(length);
            return chunk;
          });
          expect(split([...chunks, rest])).toEqual({ lines, long: [] });
        },
      ),
    );
  });

  it("takes ends of lines of Windows, and waits for the end of the last line", () => {
    expect(split(["a\r\nb\n", "c"]).lines).toEqual(["a", "b"]);
  });

  it("keeps both ends of a line that is too long, and goes on with the next", () => {
    const text = `${"a".repeat(600)}${"b".repeat(2_000)}${"c".repeat(600)}`;
    const { lines, long } = split(["first\n", text.slice(0, 900), text.slice(900), "\nlast\n"]);
    expect(lines).toEqual(["first", "last"]);
    expect(long).toEqual([["a".repeat(512), "c".repeat(512)]]);
  });
});
