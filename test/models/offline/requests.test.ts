import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/models/offline/decide.ts";
import type { ModelTool } from "../../../src/models/agent-model.ts";
import { others, toolbox } from "./tools.ts";

const all = [...toolbox, ...others];

/** Request, then the first call it leads to: name and arguments; null for an answer without a call. */
const table: readonly (readonly [string, string | null, object?])[] = [
  ["What is 17.5% of 2340 plus 12?", "calculator", { expression: "17.5 / 100 * 2340 + 12" }],
  ["Calculate (3 + 4) * 2.5", "calculator", { expression: "(3 + 4) * 2.5" }],
  ["what's 2+2?", "calculator", { expression: "2 + 2" }],
  ["Multiply 12 by 7", "calculator", { expression: "12 * 7" }],
  ["What is the sum of 3, 4 and 5?", "calculator", { expression: "(3 + 4 + 5)" }],
  ["What is the average of 10, 20 and 60?", "calculator", { expression: "(10 + 20 + 60) / 3" }],
  ["What is 15% off 80?", "calculator", { expression: "80 * (1 - 15 / 100)" }],
  ["How much is the square root of 144?", "calculator", { expression: "sqrt(144)" }],
  ["What is 2 to the power of 10?", "calculator", { expression: "2 ^ 10" }],
  ["What is seven times six?", "calculator", { expression: "7 * 6" }],
  ["Divide $1,250 by 8", "calculator", { expression: "1250 / 8" }],
  ["Subtract 15 from 100", "calculator", { expression: "100 - 15" }],
  ["what time is it in Tokyo", "current_time", { timezone: "Asia/Tokyo" }],
  ["What is the time in New York?", "current_time", { timezone: "America/New_York" }],
  ["What time is it?", "current_time", { timezone: "UTC" }],
  ["Tell me the current time in Europe/Madrid", "current_time", { timezone: "Europe/Madrid" }],
  ["What date is it today in Sydney?", "current_time", { timezone: "Australia/Sydney" }],
  ["Read docs/intro.md", "read_file", { path: "docs/intro.md" }],
  ["What does README.md say?", "read_file", { path: "README.md" }],
  ["Open the file 'notes/todo.txt' please.", "read_file", { path: "notes/todo.txt" }],
  ["Show me the contents of package.json", "read_file", { path: "package.json" }],
  ["Which files are in the docs folder?", "list_files", { path: "docs" }],
  ["list the files in docs, then read docs/intro.md", "list_files", { path: "docs" }],
  [
    "List all files in src/models recursively",
    "list_files",
    { path: "src/models", recursive: true },
  ],
  ["Which files are in the current directory?", "list_files", { path: "." }],
  ["List the files in docs, not recursive", "list_files", { path: "docs", recursive: false }],
  [
    "How many ERROR lines are there in payments.log?",
    "search_text",
    { query: "ERROR", path: "payments.log" },
  ],
  ['Search for "rate limit" in docs', "search_text", { query: "rate limit", path: "docs" }],
  ["Find where TODO appears in src/app.ts", "search_text", { query: "TODO", path: "src/app.ts" }],
  ["grep timeout in logs/api.log", "search_text", { query: "timeout", path: "logs/api.log" }],
  ["Parse the logs in logs/2024", "parse_logs", { folder: "logs/2024" }],
  ["Parse the logs in the archive folder", "parse_logs", { folder: "archive" }],
  ["Count the errors of the payments service", "count_errors", { service: "payments" }],
  ["How many errors does service checkout have?", "count_errors", { service: "checkout" }],
  ["Use count_errors for billing", "count_errors", { service: "billing" }],
  ["What is the weather in Paris?", "get_weather", { city: "Paris" }],
  [
    "Weather forecast for San Francisco in fahrenheit for 3 days",
    "get_weather",
    { city: "San Francisco", unit: "fahrenheit", days: 3 },
  ],
  [
    "Send an email to ada@example.com saying the build is green",
    "send_email",
    { to: "ada@example.com", body: "the build is green" },
  ],
  ["Fetch https://example.com/a?b=1.", "fetch_url", { url: "https://example.com/a?b=1" }],
  ["Where is order ORD-1042?", "get_order", { order_id: "ORD-1042" }],
  ["Look up order #77", "get_order", { order_id: "77" }],
  [
    "Refund order ORD-7 with amount 19.99 because it came late",
    "refund_order",
    { order_id: "ORD-7", amount: 19.99, reason: "late" },
  ],
  [
    'Create tickets "Login fails" and "Slow search"',
    "create_tickets",
    { titles: ["Login fails", "Slow search"] },
  ],
  ["Hello!", null],
  ["Who are you?", null],
  ["Write me a poem about the sea", null],
];

describe("the offline model's first move", () => {
  const rows = table.map(([request, name, args]) => ({ request, name, args }));
  it.each(rows)("$request", ({ request, name, args }) => {
    const { calls } = decide([new HumanMessage(request)], all.map(offlineTool));
    expect(calls).toEqual(name === null ? [] : [{ id: "call_1", name, args }]);
  });
});

function offlineTool({ name, description, input_schema }: ModelTool) {
  return { name, description, parameters: input_schema };
}
