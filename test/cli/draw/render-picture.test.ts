import { describe, expect, it } from "vitest";
import { DrawingFailedError } from "../../../src/cli/draw/find-browser.ts";
import { asStandIn, mermaidText } from "../../../src/compile/mermaid-text.ts";
import { renderPicture } from "../../../src/cli/draw/render-picture.ts";
import { browserHere, needsBrowser } from "./browser.ts";

const browser = browserHere ?? "";

/** Texts that Mermaid, HTML or Markdown would take for markup. */
const texts = [
  ..."! \" # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~"
    .split(" ")
    .flatMap((sign) => [
      `${sign} a`,
      `a${sign}b`,
      `${sign}${sign}a${sign}${sign}`,
      `a ${sign}${sign}${sign}`,
      sign,
    ]),
  "1. one",
  "2) two",
  "--> b",
  "-. x .-> b",
  "a == b",
  "&nbsp;",
  "#35;",
  "%%{init: {}}%%",
  "https://a.example/b_c?d=e#f",
  "www.example.com",
  "me@example.com",
  "fa:fa-x",
  "$$x$$",
  "<b>x</b>",
  "<br/>",
  "[a](b)",
  "end",
  "subgraph",
  "a\\nb",
  "é 你好",
  "…",
];

/** Ids that are words of Mermaid's or near to its arrows. */
const names = [
  "end",
  "graph",
  "subgraph",
  "class",
  "style",
  "click",
  "default",
  "o",
  "x",
  "v",
  "a-b",
]
  .concat(["flowchart", "linkStyle", "direction", "TB", "call", "href", "title", "interpolate"])
  .concat(["a--b", "x-", "end-user", "__start"]);

/** What is to be read in an SVG, without spaces: long texts have been broken into lines. */
function textIn(svg: string): string {
  const shown = svg.replaceAll(/<style>.*?<\/style>/gs, "").replaceAll(/<[^>]*>/g, "");
  return withoutSpaces(
    shown
      .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&"),
  );
}

const withoutSpaces = (text: string) => text.replaceAll(/\s/g, "");

describe.skipIf(browserHere === null)(`a picture${needsBrowser}`, () => {
  it("shows every text as it is", async () => {
    const nodes = texts.map((text, index) => ({
      id: `n${index}`,
      metadata: { type: "llm", description: `«${text}»` },
    }));
    const bare = texts.map((text, index) => ({
      id: `m${index}`,
      metadata: { type: "llm", description: text },
    }));
    const edges = texts.map((text, index) => ({
      source: `n${index}`,
      target: `m${index}`,
      data: `‹${text}›`,
      conditional: true,
    }));
    const graph = { nodes: [...nodes, ...bare], edges };
    const svg = await renderPicture(mermaidText(graph, asStandIn), { format: "svg", browser });
    const shown = textIn(Buffer.from(svg).toString());
    const lost = texts.map(withoutSpaces).filter((text, index) => {
      const wanted = [`n${index}«${text}»`, `m${index}${text}`, `‹${text}›`];
      return !wanted.every((part) => shown.includes(part));
    });
    expect(lost).toEqual([]);
  });

  it("is drawn whatever the nodes are called", async () => {
    const nodes = names.map((id) => ({ id, metadata: { type: "llm" } }));
    const edges = names.map((source, index) => ({
      source,
      target: names[(index + 1) % names.length] ?? source,
    }));
    const text = mermaidText({ nodes, edges }, asStandIn);
    const svg = Buffer.from(await renderPicture(text, { format: "svg", browser })).toString();
    expect(svg.match(/class="node /g)).toHaveLength(names.length);
    expect(svg.match(/marker-end=/g)).toHaveLength(names.length);
  });

  it("is refused with the reason when it cannot be drawn", async () => {
    const drawing = renderPicture("flowchart TD\n  a -->", { format: "svg", browser });
    await expect(drawing).rejects.toThrow(DrawingFailedError);
    await expect(drawing).rejects.toThrow(/could not draw the picture: .*Parse error/);
  });
});

it("is refused when the browser is none", async () => {
  const drawing = renderPicture("flowchart TD", { format: "png", browser: process.execPath });
  await expect(drawing).rejects.toMatchObject({ code: "drawing_failed", kind: "run" });
});
