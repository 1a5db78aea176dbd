import { describe, expect, it } from "vitest";
import {
  createToolRegistry,
  toModelTool,
  ToolClashError,
  UnknownToolError,
} from "../../src/tools/registry.ts";
import { statelessTool } from "../helpers/probe-tools.ts";

const named = (name: string) => statelessTool(() => name, { name });

describe("createToolRegistry", () => {
  const search = named("web_search");
  const fetch = named("fetch_page");
  const registry = createToolRegistry([search, fetch]);

  it("finds tools by name", () => {
    expect(registry.get("fetch_page")).toBe(fetch);
    expect(registry.get("nothing")).toBeUndefined();
    expect(registry.names()).toEqual(["web_search", "fetch_page"]);
    expect(registry.resolve(["fetch_page", "web_search"])).toEqual([fetch, search]);
  });

  it("refuses two tools of one name", () => {
    const make = () => createToolRegistry([search, fetch, named("web_search")]);
    expect(make).toThrow(ToolClashError);
    expect(make).toThrow('Two tools are named "web_search".');
  });

  it("names what is near to an unknown name", () => {
    const resolve = () => registry.resolve(["web_serach"]);
    expect(resolve).toThrow(UnknownToolError);
    expect(resolve).toThrow(
      expect.objectContaining({
        code: "unknown_tool",
        toolName: "web_serach",
        known: ["web_search", "fetch_page"],
        suggestion: "web_search",
        message:
          'There is no tool "web_serach". Did you mean "web_search"? Tools: web_search, fetch_page.',
      }),
    );
  });

  it("does not know names of objects", () => {
    expect(registry.get("constructor")).toBeUndefined();
    expect(registry.get("__proto__")).toBeUndefined();
  });
});

describe("toModelTool", () => {
  it("is name, description and input schema", () => {
    expect(toModelTool(named("web_search"))).toEqual({
      name: "web_search",
      description: "A tool of a test.",
      input_schema: { type: "object" },
    });
  });
});
