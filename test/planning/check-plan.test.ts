import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkPlan, type PlanLimits } from "../../src/planning/check-plan.ts";
import type { SubtaskState, SubtaskStates } from "../../src/state/plan.ts";
import { noUsage } from "../../src/state/usage.ts";
import { chainOf, subtasksOf, timedPlans } from "../helpers/arbitrary-plan.ts";

const limits: PlanLimits = { maxSubtasks: 100, workers: ["coder", "writer"] };

function problemsOf(value: unknown, given?: SubtaskStates) {
  const checked = checkPlan(value, { ...limits, ...(given === undefined ? {} : { given }) });
  return checked.ok ? [] : checked.problems;
}
const messagesOf = (value: unknown, given?: SubtaskStates) =>
  problemsOf(value, given).map(({ message }) => message);
const planOf = (written: string) => ({ subtasks: subtasksOf(written) });
const one = (fields: Record<string, unknown>) => ({
  subtasks: [{ id: "a", description: "do it", ...fields }],
});

const done: SubtaskState = {
  status: "done",
  worker: "coder",
  attempts: 1,
  started_at: null,
  ended_at: null,
  result: 1,
  error: null,
  usage: noUsage,
  depth: 0,
};

describe("a sound plan", () => {
  it("comes back without what has no place in it, frozen all the way down", () => {
    const checked = checkPlan(
      {
        thoughts: "…",
        subtasks: [
          { id: "a", description: "first", dependencies: [], priority: 1 },
          {
            id: "b",
            description: " second ",
            dependencies: ["a", "a"],
            worker: "writer",
            expected_output: "a page",
          },
        ],
        success_criteria: "good",
      },
      limits,
    );
    expect(checked).toEqual({
      ok: true,
      plan: {
        subtasks: [
          { id: "a", description: "first", dependencies: [] },
          {
            id: "b",
            description: " second ",
            dependencies: ["a"],
            worker: "writer",
            expected_output: "a page",
          },
        ],
        success_criteria: "good",
      },
    });
    const plan = checked.ok ? checked.plan : undefined;
    expect(Object.isFrozen(plan)).toBe(true);
    expect(Object.isFrozen(plan?.subtasks[1]?.dependencies)).toBe(true);
  });

  it("may have numbers as ids, and null or blank text for what is left out", () => {
    const written = {
      subtasks: [
        { id: 1, description: "x", dependencies: null, worker: null, expected_output: " " },
        { id: "2", description: "y", dependencies: [1], worker: "" },
      ],
      success_criteria: null,
    };
    const before = structuredClone(written);
    expect(checkPlan(written, limits)).toStrictEqual({
      ok: true,
      plan: {
        subtasks: [
          { id: "1", description: "x", dependencies: [] },
          { id: "2", description: "y", dependencies: ["1"] },
        ],
        success_criteria: "",
      },
    });
    expect(written).toEqual(before);
    expect(Object.isFrozen(written.subtasks)).toBe(false);
  });

  it("is found sound again", () => {
    fc.assert(
      fc.property(timedPlans(), (plan) => {
        const checked = checkPlan(plan, limits);
        if (!checked.ok) throw new Error("refused");
        expect(checkPlan(checked.plan, limits)).toEqual(checked);
      }),
    );
  });
});

describe("the shape", () => {
  const misshapen: readonly [value: unknown, message: string][] = [
    [null, "plan: expected an object, got null"],
    ["[]", 'plan: expected an object, got "[]"'],
    [[], "plan: expected an object, got an array"],
    [{}, "subtasks: expected an array, got nothing"],
    [{ subtasks: {} }, "subtasks: expected an array, got an object"],
    [{ subtasks: "x".repeat(81) }, `subtasks: expected an array, got "${"x".repeat(80)}…"`],
    [{ subtasks: [7] }, "subtasks[0]: expected an object, got 7"],
    [
      one({ id: "a b" }),
      'subtasks[0].id: expected 1 to 64 letters, digits, "_", "." and "-", got "a b"',
    ],
    [one({ id: "" }), 'subtasks[0].id: expected 1 to 64 letters, digits, "_", "." and "-", got ""'],
    [
      one({ id: undefined }),
      'subtasks[0].id: expected 1 to 64 letters, digits, "_", "." and "-", got nothing',
    ],
    [
      one({ id: 1e21 }),
      'subtasks[0].id: expected 1 to 64 letters, digits, "_", "." and "-", got 1e+21',
    ],
    [
      one({ id: "__proto__" }),
      'subtasks[0].id: expected another id than "__proto__", which every object has',
    ],
    [
      one({ id: "constructor" }),
      'subtasks[0].id: expected another id than "constructor", which every object has',
    ],
    [one({ description: 5 }), "subtasks[0].description: expected a string, got 5"],
    [
      one({ description: " \n" }),
      'subtasks[0].description: expected a description of the work, got " \\n"',
    ],
    [
      one({ description: "x".repeat(20_001) }),
      "subtasks[0].description: expected at most 20,000 characters, got 20,001",
    ],
    [one({ dependencies: "b" }), 'subtasks[0].dependencies: expected an array of ids, got "b"'],
    [one({ dependencies: [true] }), "subtasks[0].dependencies[0]: expected an id, got true"],
    [one({ dependencies: [[]] }), "subtasks[0].dependencies[0]: expected an id, got an array"],
    [one({ dependencies: [NaN] }), "subtasks[0].dependencies[0]: expected an id, got NaN"],
    [one({ worker: ["coder"] }), "subtasks[0].worker: expected a string, got an array"],
    [one({ expected_output: {} }), "subtasks[0].expected_output: expected a string, got an object"],
    [{ ...one({}), success_criteria: 5n }, "success_criteria: expected a string, got a bigint"],
  ];
  it.each(misshapen.map(([value, message]) => ({ value, message })))(
    "$message",
    ({ value, message }) => {
      expect(problemsOf(value)).toMatchObject([{ kind: "shape", message }]);
    },
  );

  it("is told with the id where it has one", () => {
    expect(problemsOf(one({ worker: 5 }))[0]?.ids).toEqual(["a"]);
    expect(problemsOf(one({ id: "ä" }))[0]?.ids).toEqual([]);
  });

  it("makes no unknown dependency of a subtask that is there under a bad id", () => {
    const plan = {
      subtasks: [
        { id: "step one", description: "x" },
        { id: "two", description: "y", dependencies: ["step one"] },
      ],
    };
    expect(problemsOf(plan).map(({ kind }) => kind)).toEqual(["shape"]);
  });

  it("may be anything at all", () => {
    const part = fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true });
    const nearly = fc.record(
      {
        subtasks: fc.array(
          fc.record(
            { id: part, description: part, dependencies: fc.oneof(part, fc.array(part)) },
            { requiredKeys: [] },
          ),
        ),
        success_criteria: part,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(part, nearly), (value) => {
        const checked = checkPlan(value, limits);
        expect(checked.ok || checked.problems.length > 0).toBe(true);
      }),
    );
  });

  it("may be circular, deep, or not to be read", () => {
    const circular: Record<string, unknown> = one({});
    circular["self"] = circular;
    (circular["subtasks"] as unknown[]).push(circular);
    expect(messagesOf(circular)).toEqual([
      'subtasks[1].id: expected 1 to 64 letters, digits, "_", "." and "-", got nothing',
      "subtasks[1].description: expected a string, got nothing",
    ]);
    let deep: unknown = [];
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(messagesOf(one({ dependencies: deep, worker: deep }))).toEqual([
      "subtasks[0].worker: expected a string, got an array",
      "subtasks[0].dependencies[0]: expected an id, got an array",
    ]);
    const trap = {
      get subtasks(): unknown {
        throw new Error("no");
      },
    };
    const unreadable = "plan: expected plain JSON, got something that cannot be read";
    expect(messagesOf(trap)).toEqual([unreadable]);
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    expect(messagesOf({ subtasks: proxy })).toEqual([unreadable]);
  });
});

describe("the number of subtasks", () => {
  it("is at least one", () => {
    expect(problemsOf({ subtasks: [] })).toEqual([
      { kind: "empty", ids: [], message: "subtasks: expected at least one subtask, got none" },
    ]);
  });

  it("is at most the limit, told without a look at them", () => {
    const subtasks: unknown[] = [];
    subtasks.length = 10_000_000;
    Object.defineProperty(subtasks, 0, {
      get() {
        throw new Error("looked at");
      },
    });
    expect(problemsOf({ subtasks })).toEqual([
      { kind: "too_many", ids: [], message: "subtasks: expected at most 100, got 10,000,000" },
    ]);
    expect(checkPlan({ subtasks: chainOf(100) }, limits).ok).toBe(true);
  });

  it("counts what was planned before", () => {
    const given = Object.fromEntries(Array.from({ length: 98 }, (_, at) => [`g${at}`, done]));
    expect(messagesOf({ subtasks: chainOf(3) }, given)).toEqual([
      "subtasks: expected at most 100 with the 98 planned before, got 3",
    ]);
    expect(messagesOf({ subtasks: chainOf(2) }, given)).toEqual([]);
  });
});

describe("ids", () => {
  it("are used once", () => {
    expect(problemsOf(planOf("a:; b:; a:; a: b"))).toEqual([
      {
        kind: "duplicate_id",
        ids: ["a"],
        message:
          'subtasks[2].id: "a" was used before, by subtasks[0]; give each subtask an id of its own',
      },
      {
        kind: "duplicate_id",
        ids: ["a"],
        message:
          'subtasks[3].id: "a" was used before, by subtasks[0]; give each subtask an id of its own',
      },
    ]);
  });

  it("are none of an earlier plan", () => {
    expect(problemsOf(planOf("a:; b: a"), { a: done })).toEqual([
      {
        kind: "duplicate_id",
        ids: ["a"],
        message:
          'subtasks[0].id: "a" was used before, by an earlier plan; give each subtask an id of its own',
      },
    ]);
  });
});

describe("dependencies", () => {
  it("are there: else the nearest is named, and what there is", () => {
    expect(problemsOf(planOf("fetch:; parse: fetsh; write: everything"))).toEqual([
      {
        kind: "unknown_dependency",
        ids: ["parse"],
        message:
          'Subtask "parse" depends on "fetsh", which does not exist. Did you mean "fetch"? There are: fetch, parse, write.',
      },
      {
        kind: "unknown_dependency",
        ids: ["write"],
        message:
          'Subtask "write" depends on "everything", which does not exist. There are: fetch, parse, write.',
      },
    ]);
  });

  it("never are suggested to be the subtask itself", () => {
    expect(messagesOf(planOf("parse: prase"))).toEqual([
      'Subtask "parse" depends on "prase", which does not exist. There are: parse.',
    ]);
  });

  it("are listed up to twenty", () => {
    const plan = { subtasks: [...chainOf(30), ...subtasksOf("z: nothing-of-these")] };
    const twenty = Array.from({ length: 20 }, (_, at) => `s${at}`).join(", ");
    expect(messagesOf(plan)).toEqual([
      `Subtask "z" depends on "nothing-of-these", which does not exist. There are: ${twenty} and 11 more.`,
    ]);
  });

  it("are not the subtask itself", () => {
    expect(problemsOf(planOf("a: a; b: a"))).toEqual([
      { kind: "self_dependency", ids: ["a"], message: 'Subtask "a" depends on itself' },
    ]);
  });

  it("may be what is done of earlier plans, and nothing else of them", () => {
    const given: SubtaskStates = { a: done, b: { ...done, status: "failed" } };
    expect(messagesOf(planOf("c: a"), given)).toEqual([]);
    expect(problemsOf(planOf("c: a b; d: x"), given)).toEqual([
      {
        kind: "unfinished_dependency",
        ids: ["c", "b"],
        message:
          'Subtask "c" depends on "b" of an earlier plan, which is failed; a subtask can only depend on completed ones',
      },
      {
        kind: "unknown_dependency",
        ids: ["d"],
        message: 'Subtask "d" depends on "x", which does not exist. There are: c, d, a.',
      },
    ]);
  });

  it("are no names that every object has", () => {
    expect(problemsOf(planOf("a: constructor"), {})).toMatchObject([
      { kind: "unknown_dependency", ids: ["a"] },
    ]);
  });
});

describe("cycles", () => {
  it("are named in order", () => {
    expect(problemsOf(planOf("a: b; b: a"))).toEqual([
      {
        kind: "cycle",
        ids: ["a", "b", "a"],
        message: "These subtasks form a dependency cycle, each depending on the next: a → b → a",
      },
    ]);
  });

  it("are the shortest through the first of those that all depend on each other", () => {
    const cycles = problemsOf(planOf("w: a; x: x y; a: b; b: c; c: d a; d: a; y: x x"));
    expect(cycles.map(({ kind, ids }) => [kind, ...ids])).toEqual([
      ["self_dependency", "x"],
      ["cycle", "x", "y", "x"],
      ["cycle", "a", "b", "c", "a"],
    ]);
  });

  it("may be as long as the plan, and are said in short", () => {
    const [first, ...others] = chainOf(5_000);
    const subtasks = [{ ...first, dependencies: ["s4999"] }, ...others];
    const checked = checkPlan({ subtasks }, { ...limits, maxSubtasks: 5_000 });
    const [problem] = checked.ok ? [] : checked.problems;
    expect(problem?.ids).toHaveLength(5_001);
    expect(problem?.ids.slice(0, 3)).toEqual(["s0", "s4999", "s4998"]);
    expect(problem?.message).toMatch(/: s0 → s4999 → .* → s4982 → … 4,981 more … → s0$/);
  });

  it("are found in every plan that has one, and follow its dependencies", () => {
    const anyPlan = fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), {
      minLength: 10,
      maxLength: 10,
    });
    fc.assert(
      fc.property(anyPlan, (drawn) => {
        const after = drawn.map((all, at) => all.filter((other) => other !== at));
        const subtasks = after.map((all, at) => ({
          id: `${at}`,
          description: "x",
          dependencies: all,
        }));
        // All that can be reached from each, by definition.
        const reach = after.map((all) => new Set(all));
        for (const _ of after) {
          for (const set of reach) for (const at of set) reach[at]?.forEach((x) => set.add(x));
        }
        const groups = new Set(
          reach.flatMap((set, at) =>
            set.has(at) ? [Math.min(...[...set].filter((other) => reach[other]?.has(at)))] : [],
          ),
        );
        const problems = problemsOf({ subtasks });
        expect(problems.map(({ ids }) => ids[0])).toEqual([...groups].map(String));
        for (const { ids } of problems) {
          expect(ids.at(-1)).toBe(ids[0]);
          expect(new Set(ids).size).toBe(ids.length - 1);
          for (const [at, id] of ids.slice(1).entries()) {
            expect(after[Number(ids[at])]).toContain(Number(id));
          }
        }
      }),
    );
  });
});

describe("workers", () => {
  it("are there: else the nearest is named, and what there is", () => {
    expect(problemsOf(one({ worker: "writr" }))).toEqual([
      {
        kind: "unknown_worker",
        ids: ["a"],
        message:
          'Subtask "a" names the worker "writr", which does not exist. Did you mean "writer"? There are: coder, writer.',
      },
    ]);
  });
});

it("tells every problem at once, the shapes first", () => {
  const plan = {
    subtasks: [
      { id: "a", description: "", dependencies: ["b"], worker: "nobody" },
      { id: "b", description: "x", dependencies: ["a", "c"] },
      { id: "b", description: "x" },
    ],
  };
  expect(problemsOf(plan).map(({ kind }) => kind)).toEqual([
    "shape",
    "duplicate_id",
    "unknown_dependency",
    "cycle",
    "unknown_worker",
  ]);
});

describe("a large plan", () => {
  const large: PlanLimits = { maxSubtasks: 5_000, workers: ["coder"] };

  it("may be a chain that no stack would hold", () => {
    expect(checkPlan({ subtasks: chainOf(5_000).toReversed() }, large).ok).toBe(true);
  });

  it("may be wrong all over", () => {
    const prefix = "x".repeat(55);
    const subtasks = chainOf(5_000).map(({ id }) => ({
      id: `${prefix}-${id}`,
      description: "x",
      dependencies: [`${prefix}-${id}-y`],
      worker: `${id}-nobody`,
    }));
    const checked = checkPlan({ subtasks }, large);
    expect(checked.ok ? 0 : checked.problems.length).toBe(10_000);
  });
});
