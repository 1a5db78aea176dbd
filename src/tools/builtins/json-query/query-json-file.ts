import { z } from "zod";
import { builtinTool } from "../builtin-tool.ts";
import { textOfFile } from "../read-text.ts";
import type { RootFolder } from "../root-folder.ts";
import { checkDataSize, maxDataSize, parsedJson } from "./json-data.ts";
import { queryText } from "./query-text.ts";
import { searchJson } from "./search-json.ts";

/** `json_query` for a JSON file, which only an agent that may read files is offered. */
export function queryJsonFileTool(root: RootFolder) {
  return builtinTool({
    name: "query_json_file",
    display_name: "Query JSON file",
    description:
      "Selects, filters, sorts and reshapes the JSON of a file in the root folder with a JMESPath query, without reading all of the file to you. Numbers in conditions stand in backticks, texts in single quotes.",
    input_schema: z.strictObject({
      query: queryText,
      path: z
        .string()
        .min(1)
        .max(4_096)
        .describe("Path from the root folder, with / between folders"),
    }),
    permissions: ["file:read"],
    async handler({ query, path }) {
      const location = await root.locate(path);
      const text = await textOfFile(root, location, maxDataSize);
      const data = parsedJson(text, `"${location.shown}"`);
      checkDataSize(data);
      return { result: await searchJson(data, query) };
    },
  });
}
