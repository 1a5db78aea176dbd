import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoted, toolName } from "../../../src/tools/mcp/server-tools.ts";

describe("toolName", () => {
  it("puts _ for dots and slashes, and the prefix before", () => {
    expect(toolName("files/read.all")).toBe("files_read_all");
    expect(toolName("read", "gh_")).toBe("gh_read");
  });

  it.each(["", "a b", "a\nb", 'a"b', "../a", "a..b", "naïve", "a:b"])("refuses %j", (own) => {
    expect(toolName(own)).toBeUndefined();
  });

  it("gives every name that models take as it is", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), (own) => {
        expect(toolName(own)).toBe(own);
      }),
    );
  });

  it("shortens long names so that they differ where the whole names do", () => {
    const long = "x".repeat(80);
    const one = toolName(`${long}.a`);
    expect(one).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(toolName(`${long}.b`)).not.toBe(one);
    expect(toolName(`${long}_a`)).not.toBe(one);
  });
});

it("quotes a name without characters that act on a terminal", () => {
  expect(quoted('a"\u001b[31m\u009b\u202e')).toBe(String.raw`"a\"\u001b[31m\u009b\u202e"`);
});
