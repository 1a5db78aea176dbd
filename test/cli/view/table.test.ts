import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStyle, textWidth } from "../../../src/cli/view/terminal.ts";
import { tableLines, type Column } from "../../../src/cli/view/table.ts";

const plain = createStyle(false);
const columns: readonly Column[] = [
  { title: "name", least: 6 },
  { title: "count", align: "right" },
  { title: "note", least: 4, optional: 1 },
];

function table(rows: readonly (readonly string[])[], width: number): string[] {
  const cells = rows.map((row) => row.map((text) => ({ text })));
  return tableLines(columns, cells, { width, style: plain });
}

describe("a table", () => {
  it("is as wide as what stands in it, figures to the right, nothing after the end of a line", () => {
    expect(
      table(
        [
          ["a", "1", "first"],
          ["日本", "1,200", ""],
        ],
        Infinity,
      ),
    ).toEqual(["name  count  note", "a         1  first", "日本  1,200"]);
  });

  it("cuts the widest of the columns that may be cut", () => {
    expect(table([["a long name indeed", "1", "a note"]], 25)).toEqual([
      "name        count  note",
      "a long na…      1  a note",
    ]);
  });

  it("leaves out a column that there is no room for", () => {
    expect(table([["a long name", "1", "a note"]], 14)).toEqual([
      "name     count",
      "a long…      1",
    ]);
  });

  it("marks up what it shows, and not the space around it", () => {
    const style = createStyle(true);
    const rows = [
      [
        { text: "a", paint: style.red },
        { text: "1", paint: style.red },
      ],
    ];
    expect(tableLines(columns.slice(0, 2), rows, { width: 80, style })).toEqual([
      "\u001B[2mname\u001B[22m  \u001B[2mcount\u001B[22m",
      "\u001B[31ma\u001B[39m         \u001B[31m1\u001B[39m",
    ]);
  });

  it("never is wider than the terminal, as long as the least widths fit", () => {
    const word = fc.string({ unit: "grapheme", maxLength: 30 });
    const rows = fc.array(fc.tuple(word, fc.constant("12"), word), { maxLength: 5 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 13, max: 90 }), (cells, width) => {
        expect(table(cells, width).filter((line) => textWidth(line) > width)).toEqual([]);
      }),
    );
  });
});
