import { z } from "zod";
import { headOf } from "../../values/text.ts";
import { builtinTool } from "./builtin-tool.ts";
import {
  fileGlob,
  type Location,
  maxPatternLength,
  maxWalked,
  type RootFolder,
  walkFolder,
} from "./root-folder.ts";
import { linesOf, readText } from "./read-text.ts";

/** Bytes of the largest file that is searched. */
const maxSearchedFileBytes = 2 * 1024 * 1024;

/** Bytes that one call reads of all files together. */
const maxSearchedBytes = 64 * 1024 * 1024;

/** UTF-16 units of a line that are shown, around its first match. */
const maxShownLine = 300;

const input = z.strictObject({
  query: z.string().min(1).max(1_000).describe("Text to find within a line, taken literally"),
  path: z
    .string()
    .max(4_096)
    .optional()
    .describe("File or folder, from the root. Default: the root"),
  pattern: z
    .string()
    .min(1)
    .max(maxPatternLength)
    .optional()
    .describe("Only files like *.md, or paths from the searched folder like docs/**/*.md"),
  case_insensitive: z.boolean().optional().describe("Ignore letter case. Default: false"),
  limit: z.int().min(1).max(500).optional().describe("Most matching lines to show. Default: 50"),
});

/**
 * Literal text only: a regular expression of the model's could run for ever on one line, and JavaScript cannot
 * interrupt it.
 */
export function searchTextTool(root: RootFolder) {
  return builtinTool({
    name: "search_text",
    display_name: "Search text",
    description:
      "Finds lines with a text in the text files of the root folder, those of inner folders included. Gives file, line number and line of each, and the total count. Links, .git, node_modules, binary and very large files are left out.",
    input_schema: input,
    permissions: ["file:read"],
    async handler(asked, { signal }) {
      const start = await root.locate(asked.path ?? ".");
      const matches = asked.pattern === undefined ? () => true : fileGlob(asked.pattern);
      const from = start.shown === "." ? 0 : start.shown.length + 1;
      const search = new Search(asked.query, asked.case_insensitive ?? false, asked.limit ?? 50);
      if (!(await root.lstat(start)).isDirectory()) {
        await search.addFile(root, start);
        return search.result(true);
      }
      let walked = 0;
      for await (const { location, type } of walkFolder(root, start, { recursive: true, signal })) {
        walked += 1;
        if (type !== "file" || !matches(location.shown.slice(from))) continue;
        if (search.bytes > maxSearchedBytes) return search.result(false);
        await search.addFile(root, location);
      }
      return search.result(walked < maxWalked);
    },
  });
}

class Search {
  bytes = 0;
  readonly #fold: (text: string) => string;
  readonly #wanted: string;
  readonly #limit: number;
  readonly #matches: { file: string; line: number; text: string }[] = [];
  #total = 0;
  #files = 0;
  #skipped = 0;

  constructor(query: string, ignoreCase: boolean, limit: number) {
    this.#fold = ignoreCase ? (text) => text.toLowerCase() : (text) => text;
    this.#wanted = this.#fold(query);
    this.#limit = limit;
  }

  async addFile(root: RootFolder, location: Location): Promise<void> {
    const text = await searchable(root, location);
    if (text === undefined) {
      this.#skipped += 1;
      return;
    }
    this.#files += 1;
    this.bytes += text.length;
    if (!this.#fold(text).includes(this.#wanted)) return;
    for (const [index, line] of linesOf(text).entries()) {
      const at = this.#fold(line).indexOf(this.#wanted);
      if (at < 0) continue;
      this.#total += 1;
      if (this.#matches.length >= this.#limit) continue;
      this.#matches.push({ file: location.shown, line: index + 1, text: excerpt(line, at) });
    }
  }

  /** `complete` says whether all that was asked for was looked through. */
  result(complete: boolean) {
    return {
      matches: this.#matches,
      total: this.#total,
      truncated: this.#total > this.#matches.length,
      files_searched: this.#files,
      files_skipped: this.#skipped,
      ...(!complete && { note: "There was too much to search; give a path or a pattern." }),
    };
  }
}

/** Undefined for what is no text, too large, or cannot be read. */
async function searchable(root: RootFolder, location: Location): Promise<string | undefined> {
  const file = await root.open(location).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const read = await readText(file, maxSearchedFileBytes);
    return read.kind === "text" ? read.text : undefined;
  } finally {
    await file.close();
  }
}

/** A long line's part around its match. */
function excerpt(line: string, at: number): string {
  if (line.length <= maxShownLine) return line;
  const from = Math.max(0, Math.min(at - 100, line.length - maxShownLine));
  const shown = headOf(line.slice(from), maxShownLine);
  return `${from > 0 ? "…" : ""}${shown}${from + shown.length < line.length ? "…" : ""}`;
}
