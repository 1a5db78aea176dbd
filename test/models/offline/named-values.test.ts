import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/models/offline/decide.ts";
import type { OfflineTool } from "../../../src/models/offline/conversation.ts";

function define(
  name: string,
  description: string,
  properties: Record<string, string>,
): OfflineTool {
  const entries = Object.entries(properties).map(
    ([key, told]) => [key, { type: "string", description: told }] as const,
  );
  return {
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(entries),
      required: Object.keys(properties),
    },
  };
}

const tools = [
  define("delete_setting", "Deletes the setting of a flag.", { flag: "Flag to delete" }),
  define("write_setting", "Writes the setting of a flag.", {
    flag: "Flag to write",
    state: "Text to store, of any length",
  }),
  define("read_setting", "Reads the setting of a flag.", { flag: "Flag to read" }),
  define("list_settings", "Lists the flags that have settings.", {}),
];

/** Request, then the first call it leads to. */
const table: readonly (readonly [string, string, object])[] = [
  [
    'Write "off: it is summer" to the settings under the flag heating.',
    "write_setting",
    { flag: "heating", state: "off: it is summer" },
  ],
  [
    'Write "on" to the settings under the flag "late shift".',
    "write_setting",
    { flag: "late shift", state: "on" },
  ],
  [
    "Save twice a day in the settings for flag Größe.",
    "write_setting",
    { flag: "Größe", state: "twice a day" },
  ],
  [
    'Write to the settings that the flag dark_mode = "only at night"',
    "write_setting",
    { flag: "dark_mode", state: "only at night" },
  ],
  ["What do the settings have for the flag heating?", "read_setting", { flag: "heating" }],
  ["List the flags with settings.", "list_settings", {}],
  ["What would it take to delete the setting for flag x1?", "delete_setting", { flag: "x1" }],
  ["Delete the setting for the flag heating.", "delete_setting", { flag: "heating" }],
  [
    'Read the setting for the flag called "late shift" please.',
    "read_setting",
    { flag: "late shift" },
  ],
  ['Delete the setting for the flag titled "A B".', "delete_setting", { flag: "A B" }],
];

describe("values that a request gives by name", () => {
  it.each(table)("%s", (request, name, args) => {
    const { calls } = decide([new HumanMessage(request)], tools);
    expect(calls).toEqual([{ id: "call_1", name, args }]);
  });
});

it("matches the pattern of an argument without backtracking", () => {
  const code = { type: "string", description: "Seat to book", pattern: "^(a+)+b$" };
  const parameters = { type: "object", properties: { seat: code }, required: ["seat"] };
  const book = { name: "book_seat", description: "Books a seat.", parameters };
  const request = `Book the seat ${"a".repeat(60)} or aab.`;
  const made = decide([new HumanMessage(request)], [book]);
  expect(made).toMatchObject({ calls: [{ name: "book_seat", args: { seat: "aab" } }] });
});
