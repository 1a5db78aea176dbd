import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

/** The package's entry, as modules that tests write import it. */
export const packageEntry = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** Returns a function that makes a folder with files of these contents; each test's are gone after it. */
export function useFolders(): (files: Readonly<Record<string, string>>) => Promise<string> {
  const folders: string[] = [];
  afterEach(async () => {
    await Promise.all(folders.splice(0).map((made) => rm(made, { recursive: true, force: true })));
  });
  return async (files) => {
    const folder = await mkdtemp(join(tmpdir(), "stratagraph-cli-"));
    folders.push(folder);
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(folder, name), content);
    }
    return folder;
  };
}

export async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).toSorted();
}
