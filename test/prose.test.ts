import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/**
 * Words that stand for a clearer one: a caller, the user, resumes, renders, reports, concurrently, must, will be,
 * permanently, a maximum of.
 */
const vague =
  /\b(?:whoever|nobody|somebody|anybody|(?:go|goes|going|gone) on with|(?:is|are) told|tells of|beside|(?:is|are) to be|(?:has|have) to be|of one's|for good|so many)\b|\bwhat is\b[^.;]{0,80}\bwhat is\b/gi;

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g;

/** Code and quoted names, which may hold any word. */
const code = /^```[\s\S]*?^```|`[^`\n]*`|"[^"\n]*"/gm;

/** The vague words in the prose of a file, with their lines. */
function vagueWords(file: string): string[] {
  const blank = (text: string) => text.replace(/[^\n]/g, " ");
  const text = readFileSync(file, "utf8");
  let prose = text;
  if (!file.endsWith(".md")) {
    prose = blank(text);
    for (const { 0: comment, index } of text.matchAll(comments)) {
      prose = prose.slice(0, index) + comment + prose.slice(index + comment.length);
    }
  }
  return [...prose.replace(code, blank).matchAll(vague)].map(({ 0: word, index }) => {
    return `${file}:${text.slice(0, index).split("\n").length} ${word}`;
  });
}

function files(folder: string, ending: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => ending.test(path) && !path.includes("node_modules"))
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`);
}

describe("prose without vague words", () => {
  it.each(["src", "checkpointers"])("is in the comments of %s", (folder) => {
    expect(files(folder, /\.(?:ts|mjs)$/).flatMap(vagueWords)).toEqual([]);
  });

  it("is in the pages", () => {
    const pages = [
      "README.md",
      "SECURITY.md",
      "CHANGELOG.md",
      "bench/README.md",
      ...files("docs", /\.md$/),
      ...files("examples", /\.md$/),
    ];
    expect(pages.flatMap(vagueWords)).toEqual([]);
  });
});
