import { z } from "zod";
import { truncateText } from "../../values/text.ts";
import { ToolFailure } from "../tool-result.ts";
import { builtinTool } from "./builtin-tool.ts";
import { linesOf, textOfFile } from "./read-text.ts";
import {
  fileGlob,
  type FolderEntry,
  maxPatternLength,
  maxWalked,
  type RootFolder,
  walkFolder,
} from "./root-folder.ts";

/** Bytes of the largest file that is read. */
const maxFileBytes = 10 * 1024 * 1024;

/** UTF-16 units of text that one call gives. */
const maxContentLength = 60_000;

const readFileInput = z.strictObject({
  path: z.string().min(1).max(4_096).describe("Path from the root folder, with / between folders"),
  start_line: z.int().min(1).optional().describe("First line to read, from 1. Default: 1"),
  max_lines: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe("How many lines to read. Default: 1000"),
});

export function readFileTool(root: RootFolder) {
  return builtinTool({
    name: "read_file",
    display_name: "Read file",
    description:
      "Reads a UTF-8 text file of the root folder, whole or some of its lines. `next_line` in the result is where to go on when not all was read.",
    input_schema: readFileInput,
    permissions: ["file:read"],
    async handler({ path, start_line = 1, max_lines = 1_000 }) {
      const location = await root.locate(path);
      const lines = linesOf(await textOfFile(root, location, maxFileBytes));
      if (start_line > Math.max(1, lines.length)) {
        throw new ToolFailure(`"${location.shown}" has ${lines.length} lines.`);
      }
      const content = firstThatFit(lines.slice(start_line - 1, start_line - 1 + max_lines));
      const endLine = start_line - 1 + content.length;
      return {
        path: location.shown,
        content: content.join("\n"),
        start_line,
        end_line: endLine,
        total_lines: lines.length,
        ...(endLine < lines.length && { next_line: endLine + 1 }),
      };
    },
  });
}

/** At least one line, which is cut when it is too long by itself. */
function firstThatFit(lines: readonly string[]): readonly string[] {
  const fit: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > maxContentLength && fit.length > 0) break;
    fit.push(truncateText(line, maxContentLength));
  }
  return fit;
}

const listFilesInput = z.strictObject({
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
    input_schema: listFilesInput,
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
