import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { parseDefinition } from "../src/definition/load/parse-definition.ts";
import { parseExperiment } from "../src/experiment/config/load-experiment.ts";
import { docPages, docSnippets, writeDocPrograms } from "./helpers/doc-snippets.ts";

const project = fileURLToPath(new URL("..", import.meta.url));
const folder = `docs-${process.pid}`;
const snippets = await docSnippets();
let programs: ReadonlyMap<string, string>;

beforeAll(async () => {
  programs = await writeDocPrograms(folder);
  vi.stubEnv("DATABASE_URL", "");
  vi.stubEnv("OPENAI_API_KEY", "");
  vi.spyOn(console, "log").mockImplementation(() => {});
});

afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await rm(join(project, "coverage", folder), { recursive: true, force: true });
});

// `npm run types` checks the types of the programs.
describe("the documentation", () => {
  it.each(snippets.filter(({ language }) => language === "ts").map(({ name }) => name))(
    "%s runs",
    async (name) => {
      await expect(import(/* @vite-ignore */ programs.get(name)!)).resolves.toBeDefined();
    },
  );

  it.each(
    snippets
      .filter(({ language, text }) => language === "yaml" && text.includes("name:"))
      .map((snippet) => [snippet.name, snippet] as const),
  )("%s is a valid definition", async (name, { text }) => {
    const isExperiment = text.includes("cycle_count:");
    const parsed = isExperiment ? parseExperiment(parse(text)) : await parseDefinition(text, name);
    expect(parsed).toBeTypeOf("object");
  });

  it("names tests that are there, and one for each line of the tables of security.md", async () => {
    const page = await readFile(join(project, "docs/security.md"), "utf8");
    const cited = (text: string) =>
      [...text.matchAll(/\]\(\.\.\/(test\/[^)]+)\)((?:,? "[^"]+")*)/g)].flatMap(
        ([, file = "", titles = ""]) =>
          [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => ({ file, title })),
      );
    for (const { file, title } of cited(page)) {
      const source = await readFile(join(project, file), "utf8");
      const isThere = [`"${title}"`, `\`${title}\``].some((quoted) => source.includes(quoted));
      expect(isThere, `${file} has a test "${title}"`).toBe(true);
    }
    const tables = page.split("\n\n").filter((block) => block.includes("shown by |\n"));
    const lines = tables.flatMap((table) => table.trim().split("\n").slice(2));
    expect(lines.length).toBeGreaterThan(40);
    expect(lines.filter((line) => cited(line).length === 0)).toEqual([]);
  });

  it("links only to what is there", async () => {
    for (const page of docPages) {
      const text = await readFile(join(project, page), "utf8");
      for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        const file = join(project, page, "..", target);
        await expect(readdir(join(file, "..")), `${page} links to ${target}`).resolves.toContain(
          target.replace(/\/$/, "").split("/").at(-1),
        );
      }
    }
  });
});
