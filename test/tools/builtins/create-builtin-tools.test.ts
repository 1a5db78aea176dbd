import { describe, expect, it } from "vitest";
import { createBuiltinTools } from "../../../src/tools/builtins/create-builtin-tools.ts";

describe("createBuiltinTools", () => {
  it("makes stateless tools that a model can be told of", () => {
    const tools = createBuiltinTools({ root: "." });
    expect(tools.map(({ definition }) => definition.name)).toEqual([
      "calculator",
      "current_time",
      "read_file",
      "list_files",
      "search_text",
    ]);
    for (const { kind, definition } of tools) {
      expect([kind, definition.is_builtin, definition.persistence]).toEqual([
        "stateless",
        true,
        "none",
      ]);
      expect(definition.input_schema).toMatchObject({
        type: "object",
        additionalProperties: false,
      });
    }
  });
});
