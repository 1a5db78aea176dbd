import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkFromZod } from "../../src/definition/schema/json-schema.ts";
import type { TierKey } from "../../src/definition/tool/tool.ts";
import type { AgentState } from "../../src/state/tiers.ts";
import { callStateful } from "../../src/tools/call.ts";
import {
  HandlerMutationError,
  HandlerReturnError,
  HandlerTierError,
} from "../../src/tools/stateful-call.ts";
import { createSecrets } from "../../src/tools/secrets.ts";
import { ToolFailure } from "../../src/tools/tool-result.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statefulTool } from "../helpers/probe-tools.ts";

interface State extends AgentState {
  execution: { files: string[] };
  attempt: { count: number; notes: { text: string }[] };
}

function setUp() {
  const clock = new ManualClock();
  const controller = new AbortController();
  const state: State = { execution: { files: ["a"] }, attempt: { count: 1, notes: [] } };
  return { clock, controller, state, env: { clock, signal: controller.signal } };
}

const asState = (state: unknown) => state as State;

describe("callStateful", () => {
  it("gives the new state and the result", async () => {
    const { env, state } = setUp();
    const tool = statefulTool((given) => {
      const { execution, attempt } = asState(given);
      return {
        newState: { execution: { files: [...execution.files, "b"] }, attempt },
        toolResult: { added: "b" },
      };
    });
    const ended = await callStateful(tool, callOf(), state, env);
    expect(ended.result).toMatchObject({ outcome: "success", result: { added: "b" } });
    expect(ended.state).toEqual({ execution: { files: ["a", "b"] }, attempt: state.attempt });
    expect(ended.state.attempt).toBe(state.attempt);
  });

  it("freezes the state that it gives and the one that it gets", async () => {
    const { env, state } = setUp();
    const made = { count: 2, notes: [{ text: "x" }] };
    let frozen = false;
    const tool = statefulTool((given) => {
      frozen = Object.isFrozen(asState(given).attempt.notes);
      return { newState: { ...given, attempt: made }, toolResult: null };
    });
    await callStateful(tool, callOf(), state, env);
    expect(frozen).toBe(true);
    expect(Object.isFrozen(made.notes[0])).toBe(true);
  });

  it("gives the very same state when nothing changed", async () => {
    const { env, state } = setUp();
    const tool = statefulTool((given) => ({ newState: { ...given }, toolResult: 1 }));
    expect((await callStateful(tool, callOf(), state, env)).state).toBe(state);
  });

  describe("a handler that changes what it was given", () => {
    it.each<[string, (state: State) => unknown]>([
      ["assigns", (state) => (state.attempt.count = 2)],
      ["adds a property", (state) => Object.assign(state.attempt, { more: 1 })],
      ["deletes", (state) => Reflect.has(state, "attempt") && deleteCount(state)],
      ["pushes", (state) => state.execution.files.push("b")],
      ["pops", (state) => state.execution.files.pop()],
      ["fills", (state) => state.execution.files.fill("b")],
      ["empties", (state) => (state.execution.files.length = 0)],
      ["defines", (state) => Object.defineProperty(state.attempt, "more", { value: 1 })],
      ["redefines", (state) => Object.defineProperty(state.attempt, "count", { value: 2 })],
      ["replaces a tier", (state) => (state.execution = { files: [] })],
      ["changes the prototype", (state) => Object.setPrototypeOf(state.attempt, {})],
    ])("stops the run when it %s", async (_, change) => {
      const { env, state } = setUp();
      const before = structuredClone(state);
      const sync = statefulTool((given) => {
        change(asState(given));
        return { newState: given, toolResult: null };
      });
      const later = statefulTool(async (given) => {
        await Promise.resolve();
        change(asState(given));
      });
      for (const tool of [sync, later]) {
        const called = callStateful(tool, callOf(), state, env);
        await expect(called).rejects.toThrow(HandlerMutationError);
        await expect(called).rejects.toMatchObject({
          code: "handler_mutated_state",
          tool: "probe",
        });
      }
      expect(state).toEqual(before);
    });

    it("stops the run also when the handler has wrapped the error", async () => {
      const { env, state } = setUp();
      const tool = statefulTool((given) => {
        try {
          asState(given).attempt.count += 1;
        } catch (cause) {
          throw new Error("could not count", { cause });
        }
      });
      await expect(callStateful(tool, callOf(), state, env)).rejects.toThrow(HandlerMutationError);
    });

    it("is not mistaken for one with another type error", async () => {
      const { env, state } = setUp();
      const tool = statefulTool(() => (undefined as unknown as { a: { b: 1 } }).a.b);
      const ended = await callStateful(tool, callOf(), state, env);
      expect(ended.result.outcome).toBe("error");
      expect(ended.state).toBe(state);
    });
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "undefined"],
    ["a text", "done", "a string"],
    ["only a result", { toolResult: 1 }, "an object with toolResult"],
    ["an empty object", {}, "an empty object"],
    ["no object as state", { newState: 3, toolResult: 1 }, "newState as a number"],
    [
      "half a state",
      { newState: { attempt: {} }, toolResult: 1 },
      "newState as an object with attempt",
    ],
    ["a list as state", { newState: [], toolResult: 1 }, "newState as an array"],
  ])("stops the run when a handler returns %s", async (_, returned, words) => {
    const { env, state } = setUp();
    const called = callStateful(
      statefulTool(() => returned),
      callOf(),
      state,
      env,
    );
    await expect(called).rejects.toThrow(HandlerReturnError);
    await expect(called).rejects.toMatchObject({
      code: "handler_returned_no_state",
      returned: words,
    });
  });

  it.each<[string, () => unknown, string]>([
    ["throws", () => fail(new Error("broke")), "error"],
    ["fails", () => fail(new ToolFailure("not found")), "failure"],
    ["rejects", () => Promise.reject(new Error("broke")), "error"],
    [
      "has a result that cannot be read",
      () => ({
        newState: { execution: { files: [] }, attempt: {} },
        toolResult: { toJSON: () => fail(new Error("broke")) },
      }),
      "error",
    ],
  ])("leaves the state as it was when the handler %s", async (_, reduce, outcome) => {
    const { env, state } = setUp();
    const ended = await callStateful(statefulTool(reduce), callOf(), state, env);
    expect(ended.result.outcome).toBe(outcome);
    expect(ended.state).toBe(state);
  });

  it("leaves the state as it was on a timeout, whatever the handler returns later", async () => {
    const { env, clock, state } = setUp();
    let finish!: (returned: unknown) => void;
    const tool = statefulTool(() => new Promise((resolve) => (finish = resolve)));
    const called = callStateful(tool, callOf(), state, env);
    clock.advance(1_000);
    const ended = await called;
    finish({ newState: { execution: {}, attempt: {} }, toolResult: 1 });
    expect(ended.result.outcome).toBe("timeout");
    expect(ended.state).toBe(state);
  });

  it("ends with the reason of the run's signal", async () => {
    const { env, controller, state } = setUp();
    const tool = statefulTool(() => new Promise(() => {}));
    const called = callStateful(tool, callOf(), state, env);
    controller.abort(new Error("cancelled"));
    await expect(called).rejects.toThrow("cancelled");
  });

  describe("tiers", () => {
    const writes = (
      change: (state: State) => unknown,
      persistence: "attempt" | "execution" | "none",
    ) =>
      statefulTool((given) => ({ newState: change(asState(given)), toolResult: "ok" }), {
        persistence,
      });
    const newAttempt = (state: State) => ({ ...state, attempt: { count: 9, notes: [] } });
    const newExecution = (state: State) => ({ ...state, execution: { files: [] } });

    it("lets an attempt tool write the attempt alone", async () => {
      const { env, state } = setUp();
      const ended = await callStateful(writes(newAttempt, "attempt"), callOf(), state, env);
      expect(ended.state.attempt).toEqual({ count: 9, notes: [] });
    });

    it("stops the run when the handler changes a tier that its tool does not declare", async () => {
      const { env, state } = setUp();
      const called = callStateful(writes(newExecution, "attempt"), callOf(), state, env);
      await expect(called).rejects.toThrow(HandlerTierError);
      await expect(called).rejects.toMatchObject({
        code: "handler_wrote_other_tier",
        tool: "probe",
        tier: "execution",
        declared: "attempt",
        message:
          'The handler of tool "probe" changed the execution state, and its definition says persistence "attempt". Let it return that tier as it came, or define the tool with persistence "execution".',
      });
    });

    it("lets an execution tool write both", async () => {
      const { env, state } = setUp();
      const both = (given: State) => newAttempt(newExecution(given));
      const ended = await callStateful(writes(both, "execution"), callOf(), state, env);
      expect(ended.state).toEqual({ execution: { files: [] }, attempt: { count: 9, notes: [] } });
    });

    it("lets a tool without persistence write nothing", async () => {
      const { env, state } = setUp();
      const called = callStateful(writes(newAttempt, "none"), callOf(), state, env);
      await expect(called).rejects.toThrow(HandlerTierError);
    });

    it("stops the run when the handler changes a key that its tool does not list", async () => {
      const { env, state } = setUp();
      const both = (given: State) => newAttempt(newExecution(given));
      const tool = writes(both, "execution");
      const listing = (keys: readonly TierKey[]) => ({
        ...tool,
        definition: { ...tool.definition, writes: keys },
      });
      const called = callStateful(listing(["execution.files"]), callOf(), state, env);
      await expect(called).rejects.toMatchObject({
        code: "handler_wrote_other_tier",
        key: "attempt.count",
        message:
          'The handler of tool "probe" changed attempt.count, which its definition does not list. Let it return that key as it came, or add it to writes.',
      });
      // An equal copy of the notes is no change.
      const listed = listing(["execution.files", "attempt.count"]);
      const ended = await callStateful(listed, callOf(), state, env);
      expect(ended.state).toEqual({ execution: { files: [] }, attempt: { count: 9, notes: [] } });
    });

    it.each([[[1, 2]], ["text"], [null]])(
      "stops the run when a tool that lists its keys returns %j in place of a tier",
      async (execution) => {
        const { env, state } = setUp();
        const tool = writes((given) => ({ ...given, execution }), "execution");
        const definition = { ...tool.definition, writes: ["execution.files"] as const };
        const empty = { ...state, execution: {} };
        const called = callStateful({ ...tool, definition }, callOf(), empty, env);
        await expect(called).rejects.toMatchObject({ code: "handler_returned_no_state" });
      },
    );

    it("takes an equal copy of another tier for unchanged", async () => {
      const { env, state } = setUp();
      const copies = writes((given) => newAttempt(structuredClone(given)), "attempt");
      const ended = await callStateful(copies, callOf(), state, env);
      expect(ended.result.outcome).toBe("success");
      expect(ended.state.execution).toBe(state.execution);
    });
  });

  describe("a tier that is not JSON", () => {
    const circular: { back?: unknown } = {};
    circular.back = circular;
    const returning = (execution: unknown) =>
      statefulTool((given) => ({ newState: { ...given, execution }, toolResult: 1 }));

    it.each<[string, unknown, string, string]>([
      ["a big integer", { n: 10n }, "execution.n", "a bigint"],
      ["a date", { items: [{ when: new Date(0) }] }, "execution.items[0].when", "a Date"],
      ["NaN", { n: NaN }, "execution.n", "NaN"],
      ["what leads back to itself", circular, "execution.back", "a circular reference"],
    ])("costs the call that returned it, with the place of %s", async (_, value, path, found) => {
      const { env, state } = setUp();
      const ended = await callStateful(returning(value), callOf(), state, env);
      expect(ended.result).toMatchObject({
        outcome: "error",
        result: null,
        error: `Tool "probe" returned execution state that is not JSON: ${path} is ${found}. The state stays as it was; return plain objects, lists, texts, finite numbers, booleans and null.`,
      });
      expect(ended.state).toBe(state);
    });

    it("is refused before its schema and the search for secrets read it", async () => {
      const { env, state } = setUp();
      const secrets = createSecrets({ get: () => "sesame-1" });
      await secrets.get("KEY");
      const executionSchema = checkFromZod(z.object({}));
      const ended = await callStateful(returning(circular), callOf(), state, {
        ...env,
        secrets,
        executionSchema,
      });
      expect(ended.result.error).toContain("execution.back is a circular reference");
    });

    it("does not freeze what the handler returned with it", async () => {
      const { env, state } = setUp();
      const draft = { n: 1 };
      await callStateful(returning({ draft, bad: 1n }), callOf(), state, env);
      expect(Object.isFrozen(draft)).toBe(false);
    });
  });

  it("does not walk an old tier again when a handler adds to it", async () => {
    const { env } = setUp();
    let reads = 0;
    const old = {
      get part() {
        reads += 1;
        return 1;
      },
    };
    const add = statefulTool((given) => ({
      newState: { ...given, execution: { ...(given.execution as object), old, [reads]: 1 } },
      toolResult: 1,
    }));
    const first = await callStateful(add, callOf(), { execution: {}, attempt: {} }, env);
    reads = 0;
    const { result } = await callStateful(add, callOf(), first.state, env);
    expect([result.outcome, reads]).toEqual(["success", 0]);
  });

  it("takes a member that is undefined", async () => {
    const { env, state } = setUp();
    const tool = statefulTool((given) => ({
      newState: { ...given, attempt: { count: 2, note: undefined } },
      toolResult: 1,
    }));
    const ended = await callStateful(tool, callOf(), state, env);
    expect(ended.result.outcome).toBe("success");
    expect(ended.state.attempt).toEqual({ count: 2 });
  });

  it("refuses a tier that does not fit its schema, naming tool, tier and path", async () => {
    const { env, state } = setUp();
    const attemptSchema = checkFromZod(z.object({ count: z.number() }));
    const tool = statefulTool(
      (given) => ({ newState: { ...given, attempt: { count: "two" } }, toolResult: 1 }),
      { persistence: "attempt" },
    );
    const ended = await callStateful(tool, callOf(), state, { ...env, attemptSchema });
    expect(ended.result).toMatchObject({
      outcome: "error",
      error:
        'Tool "probe" returned attempt state that does not fit its schema: count: Invalid input: expected number, received string. The state stays as it was.',
    });
    expect(ended.state).toBe(state);
  });
});

function fail(error: Error): never {
  throw error;
}

function deleteCount(state: State): boolean {
  return delete (state.attempt as Partial<State["attempt"]>).count;
}
