import type { ModelTool } from "../../../src/models/agent-model.ts";

function text(description: string) {
  return { type: "string", description };
}

function define(
  name: string,
  description: string,
  properties: Record<string, object>,
  required: string[] = Object.keys(properties),
): ModelTool {
  return { name, description, input_schema: { type: "object", properties, required } };
}

/** Tools as agents have them, for what the offline model makes of requests. */
export const toolbox: readonly ModelTool[] = [
  define("calculator", "Evaluates an arithmetic expression and returns the number.", {
    expression: text("The arithmetic expression, such as (2 + 3) * 4"),
  }),
  define("current_time", "Tells the current date and time in a time zone.", {
    timezone: text("IANA time zone, such as Europe/Berlin"),
  }),
  define("read_file", "Reads a text file and returns its content.", {
    path: text("Path of the file"),
  }),
  define(
    "list_files",
    "Lists the files in a folder.",
    {
      path: text("The folder"),
      recursive: { type: "boolean", description: "Also list the folders inside it" },
    },
    ["path"],
  ),
  define(
    "search_text",
    "Searches files for a text and returns the lines that have it.",
    { query: text("What to look for"), path: text("File or folder to search in") },
    ["query"],
  ),
  define("parse_logs", "Parses all log files of a folder into entries.", {
    folder: text("Folder of the logs"),
  }),
  define("count_errors", "Counts the errors of one service in the parsed logs.", {
    service: text("Name of the service"),
  }),
];

/** Further tools, each for one kind of argument. */
export const others: readonly ModelTool[] = [
  define(
    "get_weather",
    "Gets the weather forecast of a city.",
    {
      city: text("Name of the city"),
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
      days: { type: "integer", minimum: 1, maximum: 14 },
    },
    ["city"],
  ),
  define("send_email", "Sends an email.", {
    to: { type: "string", format: "email" },
    body: text("Text of the message"),
  }),
  define("fetch_url", "Fetches a web page.", { url: { type: "string", format: "uri" } }),
  define("get_order", "Looks up an order of a customer.", { order_id: text("Id of the order") }),
  define("refund_order", "Refunds an order.", {
    order_id: text("Id of the order"),
    amount: { type: "number", description: "US dollars" },
    reason: { type: "string", enum: ["damaged", "late", "other"] },
  }),
  define("create_tickets", "Creates support tickets from titles.", {
    titles: { type: "array", items: { type: "string" } },
  }),
];
