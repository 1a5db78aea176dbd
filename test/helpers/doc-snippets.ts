import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("../..", import.meta.url));

export interface Snippet {
  /** The page and the number of the block on it, from 1. */
  readonly name: string;
  readonly language: string;
  readonly text: string;
}

/** The pages of the documentation, as paths from the root of the repository. */
export const docPages: readonly string[] = [
  "README.md",
  "SECURITY.md",
  ...(await readdir(join(project, "docs")))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** Returns every fenced block of every page, in order. */
export async function docSnippets(): Promise<readonly Snippet[]> {
  return (await Promise.all(docPages.map(snippetsOf))).flat();
}

async function snippetsOf(page: string): Promise<readonly Snippet[]> {
  const text = await readFile(join(project, page), "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = "", body = ""], index) => ({
      name: `${page} #${index + 1}`,
      language,
      text: body,
    }),
  );
}

/**
 * Writes each TypeScript snippet as a program into a folder under `coverage/`, emptied before, and returns the files by the
 * name of their snippet. The programs import the sources, and keep their threads in that folder.
 */
export async function writeDocPrograms(name: string): Promise<ReadonlyMap<string, string>> {
  const folder = join(project, "coverage", name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const files = new Map<string, string>();
  for (const snippet of await docSnippets()) {
    if (snippet.language !== "ts") continue;
    const text = snippet.text
      .replaceAll('from "stratagraph"', 'from "../../src/index.ts"')
      .replaceAll('from "stratagraph/checkpointers"', 'from "../../checkpointers/index.ts"')
      .replaceAll('folder: ".stratagraph"', `folder: ${JSON.stringify(join(folder, "data"))}`);
    const file = join(folder, `${snippet.name.replaceAll(/[^\w]+/g, "-")}.ts`);
    await writeFile(file, `${text}\nexport {};\n`);
    files.set(snippet.name, file);
  }
  return files;
}
