import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkFromJsonSchema, type JsonSchema } from "../../src/definition/schema/json-schema.ts";
import { jsonSchemaProblems } from "../../src/definition/check/json-schema-problems.ts";
import { answerSchema, type Asked } from "../../src/state/answer-schema.ts";
import { hashCall, hashRequest, type ProposedCall } from "../../src/state/human-request.ts";
import { bindAnswer, checkHumanAnswer, isBound } from "../../src/state/human-answer.ts";

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"],
};

function ask(kind: "approval" | "input" | "edit", schema: JsonSchema | null = null) {
  const request = { kind, proposed: null, schema: answerSchema({ kind, schema }) };
  return (answer: unknown) => {
    const read = checkHumanAnswer(request, answer);
    if (!read.ok) return read.problem;
    return read.on === "value" ? read.decision : read;
  };
}

function askAbout(...ids: string[]) {
  const proposed = ids.map((id): ProposedCall => ({ id, name: "send", args: {}, reason: "" }));
  const schema = answerSchema({ kind: "tool_approval", calls: proposed });
  return (answer: unknown) => {
    const read = checkHumanAnswer({ kind: "tool_approval", proposed, schema }, answer);
    if (!read.ok) return read.problem;
    return read.on === "calls" ? Object.fromEntries(read.decisions) : read;
  };
}

it("matches the patterns of a value's schema without backtracking", () => {
  const answer = ask("input", { type: "string", pattern: "^(a+)+$" });
  const letters = "a".repeat(60);
  expect(answer(letters)).toEqual({ decision: "edit", value: letters });
  expect(answer(`${letters}!`)).toContain("must match pattern /^(a+)+$/");
});

it("takes any value where a request that somebody stored has no schema of one", () => {
  const request = { kind: "input", proposed: null, schema: { type: "string" } } as const;
  expect(checkHumanAnswer(request, { anything: 1 })).toEqual({
    ok: true,
    on: "value",
    decision: { decision: "edit", value: { anything: 1 } },
  });
});

describe("the answer to an approval", () => {
  it("approves, rejects or edits in words and in records", () => {
    const answer = ask("approval");
    for (const yes of [true, "approve", "y", "yes", "Yes", "APPROVE", { decision: "approve" }]) {
      expect(answer(yes)).toEqual({ decision: "approve" });
    }
    for (const no of [false, "reject", "n", "NO", "no", "Reject", { decision: "reject" }]) {
      expect(answer(no)).toEqual({ decision: "reject", reason: "" });
    }
    expect(answer({ decision: "reject", reason: "too long" })).toEqual({
      decision: "reject",
      reason: "too long",
    });
    expect(answer({ decision: "edit", value: [1] })).toEqual({ decision: "edit", value: [1] });
  });

  it("says what it expected and what came", () => {
    const answer = ask("approval", person);
    expect(answer("maybe")).toBe(
      'Expected true or "approve", false or "reject", { decision: "reject", reason } or { decision: "edit", value }; got "maybe".',
    );
    expect(answer({ decision: "aprove" })).toBe(
      'Expected the decision approve, edit or reject; got "aprove".',
    );
    expect(answer({ decision: "approve", value: 1 })).toBe(
      'Beside the decision "approve" there may be nothing else; got "value".',
    );
    expect(answer({ decision: "reject", reason: 7 })).toBe("Expected a text as the reason; got 7.");
    expect(answer({ decision: "edit" })).toBe(
      'Expected { decision: "edit", value }; got no value.',
    );
    expect(answer({ decision: "edit", value: { name: 1 } })).toBe(
      'The value does not fit its schema: name: Invalid input: expected string, received number; got {"name":1}.',
    );
    expect(answer(undefined)).toMatch(/got nothing\.$/);
  });
});

describe("the answer to an edit", () => {
  it("may be the new value itself", () => {
    expect(ask("edit", person)({ name: "Ada" })).toEqual({
      decision: "edit",
      value: { name: "Ada" },
    });
    expect(ask("edit")("shorter")).toEqual({ decision: "edit", value: "shorter" });
    expect(ask("edit")(true)).toEqual({ decision: "approve" });
  });

  it("is never taken for a value when it has a decision", () => {
    expect(ask("edit")({ decision: "aprove" })).toBe(
      'Expected the decision approve, edit or reject; got "aprove".',
    );
    expect(ask("edit")({ decision: "edit", value: { decision: "x" } })).toEqual({
      decision: "edit",
      value: { decision: "x" },
    });
  });

  it("is the word itself where a text is proposed or asked for, else the word's decision", () => {
    const value = (text: string) => ({ decision: "edit", value: text });
    const about = (proposed: unknown, schema: JsonSchema | null, answer: string) => {
      const request = {
        kind: "edit",
        proposed,
        schema: answerSchema({ kind: "edit", schema }),
      } as const;
      const read = checkHumanAnswer(request, answer);
      return read.ok && read.on === "value" ? read.decision : read;
    };
    expect(about("Hi", null, "Yes")).toEqual(value("Yes"));
    expect(about("Hi", null, "approve")).toEqual({ decision: "approve" });
    expect(about(null, { type: "string" }, "no")).toEqual(value("no"));
    expect(about({ n: 1 }, null, "yes")).toEqual({ decision: "approve" });
    expect(about({ name: "Ada" }, person, "No")).toEqual({ decision: "reject", reason: "" });
    expect(about("A longer text", { type: "string", minLength: 9 }, "y")).toEqual({
      decision: "approve",
    });
  });

  it("has to fit the schema", () => {
    expect(ask("edit", person)("Ada")).toBe(
      'Expected true or "approve", false or "reject", the new value itself, { decision: "reject", reason } or { decision: "edit", value }; got "Ada". The value does not fit its schema: Invalid input: expected object, received string; got "Ada".',
    );
  });
});

describe("the answer to a question", () => {
  it("is a text where no schema says otherwise", () => {
    const answer = ask("input");
    expect(answer("approve")).toEqual({ decision: "edit", value: "approve" });
    expect(answer("yes")).toEqual({ decision: "edit", value: "yes" });
    expect(answer({ decision: "answer", value: "42" })).toEqual({ decision: "edit", value: "42" });
    expect(answer({ decision: "reject", reason: "ask me later" })).toEqual({
      decision: "reject",
      reason: "ask me later",
    });
    expect(answer(42)).toBe(
      "The value does not fit its schema: Invalid input: expected string, received number; got 42.",
    );
    expect(answer({ decision: "approve" })).toBe(
      'Expected the decision answer, edit or reject; got "approve".',
    );
  });

  it("takes the defaults of its schema", () => {
    const schema = { type: "object", properties: { n: { type: "integer", default: 3 } } };
    expect(ask("input", schema)({})).toEqual({ decision: "edit", value: { n: 3 } });
  });
});

describe("the answer to an approval of tool calls", () => {
  it("is one decision for all of them", () => {
    expect(askAbout("a", "b")(true)).toEqual({
      a: { decision: "approve" },
      b: { decision: "approve" },
    });
    expect(askAbout("a", "b")({ decision: "reject", reason: "no" })).toEqual({
      a: { decision: "reject", reason: "no" },
      b: { decision: "reject", reason: "no" },
    });
    expect(askAbout("a")({ decision: "edit", args: { to: "b" } })).toEqual({
      a: { decision: "edit", value: { to: "b" } },
    });
  });

  it("is one decision for each, by id or in a list", () => {
    const decided = {
      a: { decision: "edit", value: { to: "b" } },
      b: { decision: "reject", reason: "no" },
    };
    const reject = { decision: "reject", reason: "no" };
    const edit = { decision: "edit", args: { to: "b" } };
    expect(askAbout("a", "b")({ decisions: { a: edit, b: reject } })).toEqual(decided);
    expect(
      askAbout(
        "a",
        "b",
      )([
        { id: "b", ...reject },
        { id: "a", ...edit },
      ]),
    ).toEqual(decided);
  });

  it("names the calls that it misses or does not know", () => {
    const answer = askAbout("a", "b");
    expect(answer({ decisions: { a: true } })).toBe(
      "Expected a decision for every call; got none for b.",
    );
    expect(answer({ decisions: { a: true, b: true, c: true } })).toBe(
      'No call "c" waits. Calls that wait: a, b.',
    );
    expect(answer([{ id: "a", decision: "approve" }])).toBe(
      "Expected a decision for every call; got none for b.",
    );
    expect(answer({ decisions: { a: true, b: "maybe" } })).toBe(
      'Call "b": expected true or "approve", false or "reject", { decision: "reject", reason } or { decision: "edit", args }; got "maybe".',
    );
    expect(answer({ decision: "edit", args: {} })).toBe(
      '{ decision: "edit", args } is for one call, and 2 wait: give { decisions: { [id]: … } } with every id of a, b.',
    );
    expect(
      answer([
        { id: "a", decision: "approve" },
        { id: "a", decision: "reject" },
      ]),
    ).toBe('Expected one decision for every call; got two for "a".');
    expect(askAbout("a")({ decision: "edit", args: [] })).toBe(
      "Expected an object of arguments; got [].",
    );
  });

  it("knows ids that are also words of JavaScript", () => {
    expect(askAbout("constructor", "a")({ decisions: { a: true } })).toBe(
      "Expected a decision for every call; got none for constructor.",
    );
  });
});

describe("the hash that an answer names", () => {
  const payTo = (id: string) => {
    const call = { id, name: "pay", args: { amount: 1, to: id }, reason: "" };
    return { ...call, hash: hashCall(call) };
  };
  const [a, b] = [payTo("a"), payTo("b")];
  const calls = { kind: "tool_approval", proposed: [a, b], schema: {} } as const;
  const value = { kind: "approval", prompt: "Sure?", proposed: { n: 1 }, schema: {} } as const;
  const approve = (hash: unknown) => ({ decision: "approve", hash });

  it("is of the call's name and arguments, in any order of their keys", () => {
    const again = { name: "pay", args: { to: "a", amount: 1 } };
    expect(hashCall(again)).toBe(a.hash);
    expect(a.hash).toBe("10efaadc45c4cd06711a80650995f529245584fc200eadfe7cfdc0f9d1c6e7b6");
    expect(hashCall({ ...again, args: { to: "a", amount: 2 } })).not.toBe(a.hash);
    expect(hashCall({ ...again, name: "wipe" })).not.toBe(a.hash);
  });

  it("must be that of the call or of the request, whatever is decided", () => {
    const one = { ...calls, proposed: [a] };
    expect(checkHumanAnswer(one, approve(a.hash)).ok).toBe(true);
    expect(checkHumanAnswer(calls, { decisions: { a: approve(a.hash), b: true } }).ok).toBe(true);
    expect(checkHumanAnswer(calls, approve(hashRequest(calls))).ok).toBe(true);
    expect(checkHumanAnswer(value, approve(hashRequest(value))).ok).toBe(true);
    const wrong = [
      [one, approve(b.hash)],
      [one, { decision: "reject", hash: b.hash }],
      [one, { decision: "edit", args: {}, hash: 7 }],
      [calls, approve(a.hash)],
      [calls, { decisions: { a: approve(b.hash), b: true } }],
      [
        calls,
        [
          { id: "a", ...approve(b.hash) },
          { id: "b", decision: "approve" },
        ],
      ],
      [value, approve(hashRequest({ ...value, prompt: "Sure!" }))],
      [
        { ...value, kind: "edit" as const },
        { decision: "edit", value: 1, hash: "" },
      ],
    ] as const;
    for (const [request, answer] of wrong) {
      expect(checkHumanAnswer(request, answer)).toMatchObject({ ok: false, mismatch: true });
    }
    expect(checkHumanAnswer(calls, wrong[4][1])).toMatchObject({
      problem: `Call "a": The answer is not for the pending request: expected the hash ${a.hash}, got "${b.hash}".`,
    });
    expect(checkHumanAnswer({ ...value, kind: "input" }, approve(""))).not.toHaveProperty(
      "mismatch",
    );
  });

  it("is put into an answer that names none, which is understood as before", () => {
    const requests = [
      calls,
      { ...calls, proposed: [a] },
      value,
      { ...value, kind: "edit" as const },
    ];
    const answers = [
      true,
      "no",
      { decision: "edit", args: { to: "c" } },
      { decision: "edit", value: [1] },
      { decisions: { a: true, b: { decision: "reject", reason: "no" } } },
      [{ id: "a", decision: "edit", args: {} }],
      { n: 2 },
    ];
    for (const request of requests) {
      for (const answer of answers) {
        const read = checkHumanAnswer(request, answer);
        const bound = bindAnswer(request, answer);
        expect(bound).toEqual(read.ok ? bound : answer);
        expect(isBound(bound)).toBe(read.ok);
        expect(checkHumanAnswer(request, bound)).toEqual(read);
      }
    }
    const other = { ...a, args: { amount: 99_999, to: "a" } };
    const bound = bindAnswer({ ...calls, proposed: [a] }, "approve");
    expect(checkHumanAnswer({ ...calls, proposed: [other] }, bound)).toMatchObject({
      mismatch: true,
    });
    expect(bindAnswer({ kind: "input", proposed: null, schema: {} }, "Ada")).toBe("Ada");
  });
});

const tree: JsonSchema = {
  $defs: {
    "a/b": { type: "object", properties: { $ref: { type: "string" }, up: { $ref: "#" } } },
  },
  type: "object",
  properties: { kids: { type: "array", items: { $ref: "#" } }, of: { $ref: "#/$defs/a~1b" } },
  required: ["kids"],
};
const draft7: JsonSchema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  definitions: { pair: { type: "array", items: [{ type: "string" }, { type: "number" }] } },
  $ref: "#/definitions/pair",
};

describe("the schema of an answer", () => {
  const schemas: (JsonSchema | null)[] = [
    null,
    {},
    person,
    tree,
    draft7,
    { type: "boolean", default: true },
    { enum: ["approve", 1, null] },
    { type: ["object", "null"], description: "Anything." },
    { type: "object", properties: { decision: { type: "string" } } },
  ];
  const asked: Asked[] = [
    ...schemas.flatMap((schema) =>
      (["approval", "input", "edit"] as const).map((kind) => {
        const hash = hashRequest({ kind, proposed: null });
        return { kind, schema, ...(hash !== null && { hash }) };
      }),
    ),
    ...[["a"], ["a", "b"], ["a", "constructor", "c d"]].map((ids) => {
      const calls = ids.map((id) => {
        const call = { id, name: id, args: {} };
        return { ...call, hash: hashCall(call) };
      });
      return { kind: "tool_approval" as const, calls };
    }),
  ];

  it("can be checked, for every kind", () => {
    for (const one of asked) {
      expect(jsonSchemaProblems(answerSchema(one), [])).toEqual([]);
    }
  });

  it("leads references of the value's own schema to where they are now", () => {
    const accepts = checkFromJsonSchema(answerSchema({ kind: "input", schema: tree }));
    const good = { kids: [{ kids: [] }], of: { $ref: "text", up: { kids: [] } } };
    expect(accepts.check(good).ok).toBe(true);
    expect(accepts.check({ kids: [{}] }).ok).toBe(false);
    expect(accepts.check({ kids: [], of: { up: {} } }).ok).toBe(false);
  });

  it("accepts exactly what is understood", () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        true,
        false,
        "approve",
        "reject",
        "yes",
        "No",
        "yess",
        "",
        1,
        null,
        {},
        [],
        ["a", 1],
      ),
      fc.record({ name: fc.constantFrom("Ada", 1), age: fc.integer() }, { requiredKeys: [] }),
      fc.constantFrom({ kids: [{ kids: [] }] }, { kids: [{}] }, { decision: "buy" }),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const hash = fc.constantFrom<unknown>(
      1,
      hashRequest({ kind: "approval", proposed: null }),
      ...["a", "b"].map((name) => hashCall({ name, args: {} })),
    );
    const word = fc.constantFrom<unknown>("approve", "edit", "reject", "answer", "maybe", true);
    const record = fc.record(
      {
        decision: word,
        value,
        args: fc.oneof(fc.constant({ to: "b" }), value),
        reason: fc.constantFrom<unknown>("no", "", 1, null),
        id: fc.constantFrom("a", "b", "constructor", "c d"),
        extra: fc.constant(1),
        hash,
      },
      { requiredKeys: ["decision"] },
    );
    const tidy = fc.oneof(
      fc.record({ decision: fc.constantFrom("edit", "answer"), value }),
      fc.record({ decision: fc.constantFrom("approve", "reject"), hash }),
      fc.constantFrom<unknown>({ decision: "approve" }, { decision: "reject", reason: "no" }),
      fc.constant({ decision: "edit", args: {} }),
    );
    const decision = fc.oneof(value, word, record, tidy);
    const id = fc.constantFrom("a", "b", "constructor", "c d");
    const each = fc.array(fc.tuple(id, decision), { maxLength: 3 });
    const listed = fc.array(fc.record({ id, decision: fc.constantFrom("approve", "reject") }), {
      maxLength: 3,
    });
    const answer = fc.oneof(
      decision,
      each.map((pairs) => ({ decisions: Object.fromEntries(pairs) })),
      listed,
      fc.array(record, { maxLength: 3 }),
    );
    const checks = asked.map((one) => {
      const schema = answerSchema(one);
      const proposed = one.kind === "tool_approval" ? one.calls : null;
      return { request: { kind: one.kind, proposed, schema }, check: checkFromJsonSchema(schema) };
    });
    fc.assert(
      fc.property(fc.constantFrom(...checks), answer, ({ request, check }, given) => {
        expect(checkHumanAnswer(request, given).ok).toBe(check.check(given).ok);
      }),
      { numRuns: 3000 },
    );
  });
});
