import { z } from "zod";
import { builtinTool } from "../builtin-tool.ts";
import { textOfFile } from "../read-text.ts";
import type { RootFolder } from "../root-folder.ts";
import { checkDataSize, maxDataSize, parsedJson } from "./query-functions.ts";
import { searchJson } from "./search-json.ts";

/** The `query` of a tool's input. */
const queryText = z
  .string()
  .min(1)
  .max(4_000)
  .describe("JMESPath, such as people[?age > `30`].name or sort_by(items, &price)[-1]");

/** Selects parts of JSON data with JMESPath; work, size and depth are bounded. */
export const jsonQueryTool = builtinTool({
  name: "json_query",
  display_name: "JSON query",
  description:
    "Selects, filters, sorts and reshapes JSON data with a JMESPath query. Numbers in conditions stand in backticks, texts in single quotes.",
  input_schema: z.strictObject({
    query: queryText,
    data: z.unknown().describe("The data: a JSON value, or JSON as a text"),
  }),
  async handler({ query, data }) {
    const given = typeof data === "string" ? parsedJson(data, "The data") : data;
    checkDataSize(given);
    return { result: await searchJson(given, query) };
  },
});

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
