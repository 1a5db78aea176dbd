import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markdownLines } from "../../../src/cli/view/markdown.ts";
import type { Style } from "../../../src/cli/view/terminal.ts";

/** Marks up as tags that can be read. */
const tags = Object.fromEntries(
  ["bold", "dim", "red", "green", "yellow", "cyan"].map((name) => [
    name,
    (text: string) => `<${name[0]}>${text}</${name[0]}>`,
  ]),
) as Style;
const plain = Object.fromEntries(
  Object.keys(tags).map((name) => [name, (text: string) => text]),
) as Style;

function render(text: string, width = 30, style = tags): string[] {
  return markdownLines(text, { width, style });
}

describe("Markdown on a terminal", () => {
  it("shows headings bold, without their marks", () => {
    expect(render("# Tides **today** ##\n###### Low `x`")).toEqual([
      "<b>Tides today</b>",
      "<b>Low x</b>",
    ]);
    expect(render("#hashtag")).toEqual(["#hashtag"]);
  });

  it("shows bold text and code, also inside of each other and over several lines", () => {
    expect(render("a **b c** `d` e")).toEqual(["a <b>b c</b> <c>d</c> e"]);
    expect(render("**a `b` c**")).toEqual(["<b>a </b><b><c>b</c></b><b> c</b>"]);
    expect(render("`a ** b` ** c")).toEqual(["<c>a ** b</c> ** c"]);
    expect(render("**one two three four**", 12)).toEqual(["<b>one two</b>", "<b>three four</b>"]);
  });

  it("leaves marks without a partner, and all text after them", () => {
    for (const text of ["a **b c", "a `b c", "2 ** 3 ** 4", "``", "a**", "a ****"]) {
      expect(render(text)).toEqual([text]);
    }
    expect(render("`a **b` c**")).toEqual(["<c>a **b</c> c**"]);
  });

  it("shows lists with their indentation, and further lines below the text", () => {
    expect(render("- one two three\n  * four\n10. five six seven", 12)).toEqual([
      "• one two",
      "  three",
      "  • four",
      "10. five six",
      "    seven",
    ]);
  });

  it("shows fenced code dim between rules, and nothing in it as markup", () => {
    expect(render("```ts\nconst a = `**x**`;\n  # b\n~~~\n```\nafter", 10)).toEqual([
      "<d>── ts ────</d>",
      "<d>  const a = `**x**`;</d>",
      "<d>    # b</d>",
      "<d>  ~~~</d>",
      "<d>──────────</d>",
      "after",
    ]);
  });

  it("shows the rest of a text whose fence does not end", () => {
    expect(render("````\na\n```\nb", 10)).toEqual([
      "<d>──────────</d>",
      "<d>  a</d>",
      "<d>  ```</d>",
      "<d>  b</d>",
    ]);
  });

  it("shows quotes and rules, and leaves tables as they are", () => {
    expect(render("> a **b**\n---\n| a | **b** |\n|---|---|", 10)).toEqual([
      "<d>│ </d>a <b>b</b>",
      "<d>──────────</d>",
      "| a | **b** |",
      "|---|---|",
    ]);
  });

  it("keeps the marks where there are no colours", () => {
    expect(render("# A\n**b** `c`\n- d", 30, plain)).toEqual(["# A", "**b** `c`", "• d"]);
  });

  it("lets neither control characters nor its own marks through", () => {
    expect(render("a\u001B[2J **b\u0007** \uE000c\uE002")).toEqual(["a <b>b␇</b> �c�"]);
  });

  it("loses no word of any text", () => {
    const part = fc.constantFrom("**", "`", "```", "# ", "- ", "> ", "\n", " ", "w1", "w2", "~~~");
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        // A word that is longer than the rest of a line is broken, before a margin.
        const words = (text: string) => text.replaceAll(/[^w12]/g, "");
        const text = parts.join("");
        const shown = render(text, 12)
          .join("")
          .replaceAll(/<\/?[bcd]>/g, "");
        expect(words(shown)).toEqual(words(text));
      }),
    );
  });
});
