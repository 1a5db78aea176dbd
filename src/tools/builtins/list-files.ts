import { z } from "zod";
import { builtinTool } from "./builtin-tool.ts";
import { fileGlob, maxPatternLength } from "./file-glob.ts";
import type { RootFolder } from "./root-folder.ts";
import { type FolderEntry, maxWalked, walkFolder } from "./walk-folder.ts";

const input = z.strictObject({
  path: z
    .string()
    .max(4_096)
    .optional()
    .describe("Folder to list, from the root. Default: the root"),
  recursive: z.boolean().optional().describe("Also list the folders within. Default: false"),
  pattern: z
    .string()
    .min(1)
    .max(maxPatternLength)
    .optional()
    .describe("Only names like *.md, or paths from the listed folder like docs/**/*.md"),
  limit: z.int().min(1).max(1_000).optional().describe("Most entries to show. Default: 200"),
});

export function listFilesTool(root: RootFolder) {
  return builtinTool({
    name: "list_files",
    display_name: "List files",
    description:
      "Lists files and folders of the root folder, with the files' sizes in bytes. Links are shown and not followed; .git and node_modules are not entered.",
    input_schema: input,
    permissions: ["file:read"],
    async handler({ path = ".", recursive = false, pattern, limit = 200 }, { signal }) {
      const folder = await root.locate(path);
      const matches = pattern === undefined ? () => true : fileGlob(pattern);
      const from = folder.shown === "." ? 0 : folder.shown.length + 1;
      const shown: FolderEntry[] = [];
      let total = 0;
      let walked = 0;
      for await (const entry of walkFolder(root, folder, { recursive, signal })) {
        walked += 1;
        if (!matches(entry.location.shown.slice(from))) continue;
        total += 1;
        if (shown.length < limit) shown.push(entry);
      }
      const entries = [];
      // One after another: each has a handle open meanwhile.
      for (const entry of shown) entries.push(await describe(root, entry));
      return {
        path: folder.shown,
        entries,
        total,
        truncated: total > shown.length,
        ...(walked >= maxWalked && {
          note: `Only the first ${maxWalked.toLocaleString("en")} entries were looked at.`,
        }),
      };
    },
  });
}

async function describe(root: RootFolder, { location, type }: FolderEntry) {
  if (type !== "file") return { path: location.shown, type };
  const size = await root.lstat(location).then(
    (found) => found.size,
    () => undefined,
  );
  return { path: location.shown, type, size };
}
