import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { parseDefinition } from "../src/definition/parse-definition.ts";
import { parseExperiment } from "../src/experiment/config/load-experiment.ts";

const project = fileURLToPath(new URL("..", import.meta.url));
const folder = join(project, `coverage/docs-${process.pid}`);

interface Snippet {
  readonly name: string;
  readonly language: string;
  readonly text: string;
}

const pages = [
  "README.md",
  ...(await readdir(join(project, "docs"))).map((name) => `docs/${name}`),
];
const snippets = (await Promise.all(pages.map(snippetsOf))).flat();
const programs = snippets.filter(({ language }) => language === "ts");

/** Every fenced block of a page, in order. */
async function snippetsOf(page: string): Promise<Snippet[]> {
  const text = await readFile(join(project, page), "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = "", body = ""], index) => ({
      name: `${page} #${index + 1}`,
      language,
      text: body,
    }),
  );
}

function fileOf({ name }: Snippet): string {
  return join(folder, `${name.replaceAll(/[^\w]+/g, "-")}.ts`);
}

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  const root = pathToFileURL(project).href;
  for (const snippet of programs) {
    const text = snippet.text
      .replaceAll('from "stratagraph"', 'from "../../src/index.ts"')
      .replaceAll('from "stratagraph/checkpointers"', 'from "../../checkpointers/index.ts"')
      .replaceAll('folder: ".stratagraph"', `folder: ${JSON.stringify(join(folder, "data"))}`);
    await writeFile(fileOf(snippet), `// ${root}\n${text}\nexport {};\n`);
  }
  vi.stubEnv("DATABASE_URL", "");
  vi.stubEnv("OPENAI_API_KEY", "");
  vi.spyOn(console, "log").mockImplementation(() => {});
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the documentation", () => {
  it("has TypeScript that compiles", () => {
    const config = ts.readConfigFile(join(project, "tsconfig.json"), (path) =>
      ts.sys.readFile(path),
    );
    const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, project);
    const program = ts.createProgram(programs.map(fileOf), { ...options, noEmit: true });
    const problems = programs.flatMap((snippet) =>
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(fileOf(snippet)))
        .map(
          ({ messageText }) =>
            `${snippet.name}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
        ),
    );
    expect(problems).toEqual([]);
    // It checks the types of the whole product.
  }, 120_000);

  it.each(programs.map((snippet) => [snippet.name, snippet] as const))(
    "%s runs",
    async (_name, snippet) => {
      await expect(import(/* @vite-ignore */ fileOf(snippet))).resolves.toBeDefined();
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

  it("links only to what is there", async () => {
    for (const page of pages) {
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
