import { z } from "zod";
import { builtinTool } from "../builtin-tool.ts";
import { checkDataSize, parsedJson } from "./json-data.ts";
import { queryText } from "./query-text.ts";
import { searchJson } from "./search-json.ts";

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
