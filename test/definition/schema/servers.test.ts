import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hasMalformedReference,
  replaceSecrets,
  findSecretNames,
} from "../../../src/definition/schema/servers.ts";

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/);

describe("references to secrets", () => {
  it("are found each once, in order", () => {
    expect(findSecretNames("{{secret:B}}:{{ secret: A_1 }}/{{secret:B}}")).toEqual(["B", "A_1"]);
    expect(findSecretNames("Bearer token")).toEqual([]);
  });

  it("are replaced by what they stand for, as it is", () => {
    const text = "Bearer {{secret:KEY}}, {{ secret:KEY }}";
    expect(replaceSecrets(text, (key) => `$&${key}`)).toBe("Bearer $&KEY, $&KEY");
  });

  it.each([
    "{{secret KEY}}",
    "{{secret:}}",
    "{{secret:1A}}",
    "{{secret:A-B}}",
    "{{Secret:A}}",
    "{{secret:A",
  ])("are broken in %j", (text) => {
    expect(hasMalformedReference(text)).toBe(true);
    expect(findSecretNames(text)).toEqual([]);
  });

  it.each(["", "{{secret:A}}", "x {{ secret: A }} y", "{{name}}", "secret:A", "{secret:A}"])(
    "are not broken in %j",
    (text) => {
      expect(hasMalformedReference(text)).toBe(false);
    },
  );

  it("are all known by name, whatever stands around them", () => {
    const around = fc.string().filter((text) => !/[{}]/.test(text));
    fc.assert(
      fc.property(fc.array(fc.tuple(around, name)), around, (parts, end) => {
        const text = parts.map(([before, key]) => `${before}{{secret:${key}}}`).join("") + end;
        expect(findSecretNames(text)).toEqual([...new Set(parts.map(([, key]) => key))]);
        expect(hasMalformedReference(text)).toBe(false);
        const replaced = replaceSecrets(text, (key) => `<${key}>`);
        expect(replaced).toBe(parts.map(([before, key]) => `${before}<${key}>`).join("") + end);
      }),
    );
  });
});
