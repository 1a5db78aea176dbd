import { describe, expect, it } from "vitest";
import { createBuiltinTools } from "../../../src/tools/builtins/create-builtin-tools.ts";
import { HttpAllowError } from "../../../src/tools/builtins/http/allow-list.ts";
import type { Sandbox } from "../../../src/tools/sandbox/sandbox.ts";

const sandbox: Sandbox = { run: () => Promise.resolve(null), close: () => Promise.resolve() };

describe("createBuiltinTools", () => {
  it("makes stateless tools that a model can be told of", () => {
    const tools = createBuiltinTools({ root: "." });
    expect(tools.map(({ definition }) => definition.name)).toEqual([
      "calculator",
      "current_time",
      "json_query",
      "search_documents",
      "read_file",
      "list_files",
      "search_text",
      "query_json_file",
      "http_get",
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

  it("names the permissions that they need", () => {
    const needed = createBuiltinTools({ root: ".", sandbox })
      .map(({ definition: { name, permissions } }) => [name, permissions] as const)
      .filter(([, permissions]) => permissions.length > 0);
    expect(Object.fromEntries(needed)).toEqual({
      read_file: [{ name: "file:read", required: true }],
      list_files: [{ name: "file:read", required: true }],
      search_text: [{ name: "file:read", required: true }],
      query_json_file: [{ name: "file:read", required: true }],
      http_get: [{ name: "network:http", required: true }],
      run_code: [{ name: "code:run", required: true }],
    });
  });

  it("adds run_code where there is a sandbox", () => {
    const names = createBuiltinTools({ root: ".", sandbox }).map(
      ({ definition }) => definition.name,
    );
    expect(names.at(-1)).toBe("run_code");
  });

  it("lets http_get ask what is allowed", () => {
    const tools = createBuiltinTools({ root: ".", httpAllow: ["api.example.com"] });
    const http = tools.find(({ definition }) => definition.name === "http_get");
    expect(http?.definition.description).toContain("Allowed are: api.example.com.");
    expect(() => createBuiltinTools({ root: ".", httpAllow: ["*"] })).toThrow(HttpAllowError);
  });
});
