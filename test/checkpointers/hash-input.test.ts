import { describe, expect, it } from "vitest";
import { checkDefinition, hashInput } from "../../checkpointers/integrity.ts";
import { CorruptDefinitionError } from "../../checkpointers/errors.ts";
import { stampDefinition } from "../../src/definition/definition-hash.ts";
import { defineAgent } from "../../src/index.ts";
import { canonicalHash, canonicalJson } from "../../src/values/json.ts";

const data = { b: [{ z: 1, a: 2 }], "10": "ten", "2": "two", é: null };

describe("texts that stored hashes are made of", () => {
  it("have keys in the order of their text, whole numbers among them", () => {
    expect(hashInput(data)).toBe('{"10":"ten","2":"two","b":[{"a":2,"z":1}],"é":null}');
  });

  it("of definitions have whole numbers first, as JavaScript has them", () => {
    expect(canonicalJson(data)).toBe('{"2":"two","10":"ten","b":[{"a":2,"z":1}],"é":null}');
    expect(canonicalHash({ name: "clerk" })).toBe(
      "5d1f6ff941529150e753836dcfa168807c0ad2ba30a1faf6bc11a076ce5065fd",
    );
  });
});

describe("the hash of a definition", () => {
  it("is what the checkpointer finds when it reads the definition", () => {
    const { hash, document } = stampDefinition(defineAgent({ name: "clerk" }), {
      tools: [],
      agents: new Map(),
    });
    const stored: unknown = JSON.parse(JSON.stringify(document));
    expect(checkDefinition(hash, stored)).toBe(stored);
    expect(() => checkDefinition(hash, { ...(stored as object), name: "other" })).toThrow(
      CorruptDefinitionError,
    );
  });
});
