import { describe, expect, it } from "vitest";
import { queryJsonFileTool } from "../../../../src/tools/builtins/json-query/json-query.ts";
import { rootFolder } from "../../../../src/tools/builtins/root-folder.ts";
import { callBuiltin } from "../../../helpers/builtin-call.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const root = tempFolder({
  "people.json": '{"people": [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 9}]}',
  "marked.json": "\uFEFF[1, 2]",
  "broken.json": '{\n  "a": 1,\n}',
  "deep.json": "[".repeat(300) + "]".repeat(300),
  "image.json": new Uint8Array([0x89, 0x00]),
  "huge.json": new Uint8Array(5 * 1024 * 1024 + 1).fill(0x20),
});
const tool = queryJsonFileTool(rootFolder(root));
const ask = (query: string, path: string) => callBuiltin(tool, { query, path });

describe("query_json_file", () => {
  it("is for agents that may read files", () => {
    expect(tool.definition.permissions).toEqual([{ name: "file:read", required: true }]);
  });

  it("queries JSON files of the root folder", async () => {
    expect((await ask("people[].name", "people.json")).result).toEqual({ result: ["Ada", "Bob"] });
    expect((await ask("@", "marked.json")).result).toEqual({ result: [1, 2] });
  });

  it.each([
    ["people[", "people.json", "The query is no JMESPath, it ends too early ("],
    ["@", "broken.json", '"broken.json" is no JSON: JSON syntax: '],
    ["@", "broken.json", "at line 3, column 1."],
    ["@", "deep.json", "nested more than 200 levels deep"],
    ["@", "image.json", '"image.json" is not UTF-8 text'],
    ["@", "huge.json", "files of up to 5,242,880 are read."],
    ["@", "peple.json", 'Did you mean "people.json"?'],
  ])("fails for %s of %s (case %#)", async (query, path, message) => {
    const { outcome, error } = await ask(query, path);
    expect([outcome, error]).toEqual(["failure", expect.stringContaining(message)]);
  });

  it("cannot leave the root folder", async () => {
    const { outcome, error } = await ask("@", "../people.json");
    expect([outcome, error]).toEqual(["error", expect.stringContaining('"../people.json"')]);
  });
});
