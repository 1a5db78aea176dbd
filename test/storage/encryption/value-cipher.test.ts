import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  InvalidEncryptionKeyError,
  parseEncryptionKeys,
} from "../../../src/storage/encryption/encryption-keys.ts";
import {
  createValueCipher,
  MissingEncryptionKeyError,
  SealedValueError,
} from "../../../src/storage/encryption/value-cipher.ts";

const key = (id: string) => ({ id, key: randomBytes(32) });
const [a, b] = [key("a"), key("b")];
const cipher = createValueCipher([a]);
const none = createValueCipher([]);

describe("a sealed value", () => {
  it("opens to what it was, and never has the same bytes twice", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (plain, context) => {
        const sealed = cipher.sealBytes(plain, context);
        expect(cipher.openBytes(sealed, context)).toEqual(Buffer.from(plain));
        expect(cipher.sealBytes(plain, context).equals(sealed)).toBe(false);
      }),
    );
  });

  it("of 1 MB opens to what it was", () => {
    const plain = randomBytes(2 ** 20);
    const sealed = cipher.sealBytes(plain);
    expect(cipher.openBytes(sealed).equals(plain)).toBe(true);
    expect(sealed.byteLength - plain.byteLength).toBe(35);
  });

  it("is refused when any byte of it was changed", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"), "row 1");
    const open = (at: number): unknown => {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      try {
        // Without the magic and the version it is no sealed value, and nothing of it is opened.
        return changed.includes(cipher.openBytes(changed, "row 1")) ? "as stored" : "opened";
      } catch (error) {
        return error instanceof SealedValueError ? "refused" : error;
      }
    };
    expect([...sealed.keys()].map(open)).toEqual([
      ...Array.from({ length: 5 }, () => "as stored"),
      ...Array.from({ length: sealed.byteLength - 5 }, () => "refused"),
    ]);
  });

  it("is refused when it was cut off, wherever", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"));
    for (let length = 5; length < sealed.byteLength; length += 1) {
      expect(() => cipher.openBytes(sealed.subarray(0, length))).toThrow(SealedValueError);
    }
  });

  it("is refused in another row", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"), "row 1");
    expect(() => cipher.openBytes(sealed, "row 2")).toThrow(SealedValueError);
  });

  it("is refused by another key of the same id, and names a key that is missing", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"));
    expect(() => createValueCipher([key("a")]).openBytes(sealed)).toThrow(SealedValueError);
    expect(() => createValueCipher([b]).openBytes(sealed)).toThrow(
      expect.objectContaining({ code: "missing_encryption_key", keyId: "a", known: ["b"] }),
    );
    expect(() => none.openBytes(sealed)).toThrow(MissingEncryptionKeyError);
  });

  it("authenticates the id of its key", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"));
    const renamed = Buffer.from(sealed);
    renamed.write("b", 6);
    const both = createValueCipher([a, { id: "b", key: a.key }]);
    expect(both.openBytes(sealed).toString()).toBe("secret");
    expect(() => both.openBytes(renamed)).toThrow(SealedValueError);
  });

  it("opens with any of the keys, and is sealed by the first", () => {
    const sealed = cipher.sealBytes(Buffer.from("secret"));
    const rotated = createValueCipher([b, a]);
    expect(rotated.openBytes(sealed).toString()).toBe("secret");
    expect(() => cipher.openBytes(rotated.sealBytes(sealed))).toThrow(MissingEncryptionKeyError);
  });
});

describe("a value that is not sealed", () => {
  it("is read as it is, also where it imitates a sealed one", () => {
    const imitation = cipher.sealBytes(Buffer.from("secret"));
    for (const plain of [Buffer.from("{}"), Buffer.alloc(0), imitation]) {
      const stored = none.sealBytes(plain);
      expect(none.openBytes(stored)).toEqual(plain);
      expect(cipher.openBytes(stored)).toEqual(plain);
    }
    expect(none.sealBytes(Buffer.from("{}")).toString()).toBe("{}");
  });
});

describe("sealed JSON", () => {
  const stored = (text: string): unknown => JSON.parse(text);

  it("gives back any JSON, NUL characters and lone surrogates included", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        for (const one of [cipher, none]) {
          expect(one.openJson(stored(one.sealJson(plain, "c")), "c")).toEqual(plain);
        }
      }),
    );
    const odd = { text: "a\0b\ud800", list: [null] };
    expect(cipher.sealJson(odd)).toMatch(/^"sealed:[A-Za-z0-9+/=]+"$/);
    expect(cipher.openJson(stored(cipher.sealJson(odd)))).toEqual(odd);
  });

  it("leaves texts that begin alike as they are", () => {
    const sealed = stored(cipher.sealJson("secret")) as string;
    for (const text of ["sealed:", "sealed: the box", sealed]) {
      expect(none.openJson(stored(none.sealJson(text)))).toBe(text);
    }
    expect(cipher.openJson("sealed: from before")).toBe("sealed: from before");
  });

  it("is refused in another row", () => {
    const sealed = stored(cipher.sealJson({ a: 1 }, "row 1"));
    expect(() => cipher.openJson(sealed, "row 2")).toThrow(SealedValueError);
  });
});

describe("the text of encryption keys", () => {
  const text = randomBytes(32).toString("base64");

  it("names keys in order", () => {
    const keys = parseEncryptionKeys(` 2027 : ${text} ,old:${text.replace("=", "")}`);
    expect(keys.map(({ id, key: bytes }) => [id, bytes.toString("base64")])).toEqual([
      ["2027", text],
      ["old", text],
    ]);
    expect(parseEncryptionKeys("  ")).toEqual([]);
  });

  it.each([
    ["no id", text, 1],
    ["an id with a space", `a b:${text}`, 1],
    ["an empty id", `:${text}`, 1],
    ["a short key", `a:${text.slice(4)}`, 1],
    ["a long key", `a:${randomBytes(33).toString("base64")}`, 1],
    ["no base64", `a:${"!".repeat(44)}`, 1],
    ["an id twice", `a:${text},a:${text}`, 2],
    ["an end without a key", `a:${text},`, 2],
  ])("is refused with %s, and shows no key", (_what, given, position) => {
    let thrown: unknown;
    try {
      parseEncryptionKeys(given);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidEncryptionKeyError);
    expect(thrown).toMatchObject({ position, code: "invalid_encryption_key" });
    expect((thrown as Error).message).not.toContain(text.slice(4));
  });
});
