import { z } from "zod";
import { cutText } from "../../state/cut-text.ts";
import { ToolFailure } from "../tool-failure.ts";
import { builtinTool } from "./builtin-tool.ts";
import { linesOf, textOfFile } from "./read-text.ts";
import type { RootFolder } from "./root-folder.ts";

/** Bytes of the largest file that is read. */
const maxFileBytes = 10 * 1024 * 1024;

/** UTF-16 units of text that one call gives. */
const maxContentLength = 60_000;

const input = z.strictObject({
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
    input_schema: input,
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
    fit.push(cutText(line, maxContentLength));
  }
  return fit;
}
