import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { intersectGrants, isGranted, isPermission } from "../../../src/definition/tool/tool.ts";

const segment = fc.stringMatching(/^[A-Za-z0-9_.-]{1,6}$/);
const segments = fc.array(segment, { minLength: 1, maxLength: 4 });

describe("isPermission", () => {
  it.each(["file", "file:read", "network:http:api.example.com", "a_b-c.d"])("takes %s", (name) => {
    expect(isPermission(name, { wildcards: false })).toBe(true);
  });

  it.each(["", ":", "file:", ":read", "file read", "file:re*d", "file::read", "file:**"])(
    "refuses %j",
    (name) => {
      expect(isPermission(name, { wildcards: true })).toBe(false);
    },
  );

  it.each(["*", "network:*", "*:read"])("takes %s only for a grant", (name) => {
    expect(isPermission(name, { wildcards: true })).toBe(true);
    expect(isPermission(name, { wildcards: false })).toBe(false);
  });
});

describe("isGranted", () => {
  it.each([
    ["network:http", ["network:*"], true],
    ["network:http:get", ["network:*"], true],
    ["network", ["network:*"], false],
    ["networks:http", ["network:*"], false],
    ["file:read", ["file"], false],
    ["file", ["file:read"], false],
    ["mail:inbox:read", ["mail:*:read"], true],
    ["mail:inbox:old:read", ["mail:*:read"], false],
    ["mail:inbox:write", ["mail:*:read"], false],
    ["file:write", ["file:read", "file:write"], true],
    ["file:read", [], false],
  ])("says of %s under %j: %j", (permission, grants, expected) => {
    expect(isGranted(permission, grants)).toBe(expected);
  });

  it("covers everything by * alone", () => {
    fc.assert(
      fc.property(segments, (parts) => {
        expect(isGranted(parts.join(":"), ["*"])).toBe(true);
      }),
    );
  });

  it("covers by a grant the permission of the same name, and none that is shorter", () => {
    fc.assert(
      fc.property(segments, fc.nat(3), (parts, at) => {
        expect(isGranted(parts.join(":"), [parts.join(":")])).toBe(true);
        const shorter = parts.slice(0, Math.min(at, parts.length - 1)).join(":");
        expect(shorter !== "" && isGranted(shorter, [parts.join(":")])).toBe(false);
      }),
    );
  });

  it("covers by a grant with * for some segments at least what it covers without", () => {
    fc.assert(
      fc.property(segments, fc.array(fc.boolean(), { minLength: 4 }), (parts, stars) => {
        const grant = parts.map((part, at) => (stars[at] === true ? "*" : part)).join(":");
        expect(isGranted(parts.join(":"), [grant])).toBe(true);
      }),
    );
  });

  it("covers no more by fewer grants", () => {
    fc.assert(
      fc.property(segments, fc.array(segments), segments, (asked, grants, other) => {
        const names = grants.map((grant) => grant.join(":"));
        const permission = asked.join(":");
        expect(
          !isGranted(permission, names) || isGranted(permission, [...names, other.join(":")]),
        ).toBe(true);
      }),
    );
  });
});

describe("commonGrants", () => {
  it.each([
    [["file:*"], ["file:read"], ["file:read"]],
    [["*"], ["file:read", "network:*"], ["file:read", "network:*"]],
    [["mail:*:read"], ["mail:inbox:*"], ["mail:inbox:read"]],
    [["mail:*"], ["mail:inbox:*"], ["mail:inbox:*"]],
    [["file:read"], ["file:write"], []],
    [["file"], ["file:read"], []],
    [["*"], [], []],
  ])("finds what %j and %j both cover", (a, b, expected) => {
    expect(intersectGrants(a, b)).toEqual(expected);
    expect(intersectGrants(b, a)).toEqual(expected);
  });

  it("covers what both lists cover, and nothing else", () => {
    const few = fc.constantFrom("a", "b");
    const grant = fc.array(fc.oneof(few, fc.constant("*")), { minLength: 1, maxLength: 4 });
    const grants = fc.array(
      grant.map((all) => all.join(":")),
      { maxLength: 4 },
    );
    const permission = fc.array(few, { minLength: 1, maxLength: 5 }).map((all) => all.join(":"));
    fc.assert(
      fc.property(grants, grants, permission, (a, b, asked) => {
        const both = isGranted(asked, a) && isGranted(asked, b);
        expect(isGranted(asked, intersectGrants(a, b))).toBe(both);
      }),
    );
  });
});
