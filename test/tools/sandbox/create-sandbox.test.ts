import { z } from "zod";
import { afterAll, describe, expect, it, vi } from "vitest";
import { defineTool } from "../../../src/definition/tool/define-tool.ts";
import { runCodeTool } from "../../../src/tools/builtins/run-code.ts";
import { callStateless } from "../../../src/tools/call.ts";
import { createSandbox } from "../../../src/tools/sandbox/create-sandbox.ts";
import {
  type Sandbox,
  type SandboxedCode,
  SandboxError,
  SandboxOptionError,
} from "../../../src/tools/sandbox/sandbox.ts";
import { useChildren } from "../../helpers/child-process.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const sandbox = createSandbox();
afterAll(() => sandbox.close());

function run(source: string, more: Partial<SandboxedCode> = {}, where: Sandbox = sandbox) {
  const { signal } = new AbortController();
  return where.run({ source, name: "test", input: null, signal, timeoutMs: 5_000, ...more });
}

/** What a run is rejected with. */
async function faultOf(pending: Promise<unknown>): Promise<SandboxError> {
  const thrown: unknown = await pending.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(SandboxError);
  return thrown as SandboxError;
}

describe("a run", () => {
  it.each<[string, unknown, unknown]>([
    ["({ a, b }) => a + b", { a: 1, b: 2 }, 3],
    [
      "async ({ a }) => { await null; return [a]; }",
      { a: "ä€😀\u0000\ud800" },
      ["ä€😀\u0000\ud800"],
    ],
    [
      "function (input) { return input; }",
      { deep: [{ list: [null, true, 1.5] }] },
      { deep: [{ list: [null, true, 1.5] }] },
    ],
    ["(input) => input", undefined, null],
    ["() => {}", {}, null],
    ["() => [undefined, NaN, new Date(0)]", {}, [null, null, "1970-01-01T00:00:00.000Z"]],
    ["(x) => x // a comment", 1, 1],
    ["({ __proto__: null, f: (x) => x }).f", 1, 1],
    ["() => Promise.all([1, Promise.resolve(2)])", {}, [1, 2]],
    ["(x) => x['__pro' + 'to__'] === Object.prototype", {}, true],
  ])("of %s gives JSON", async (source, input, output) => {
    expect(await run(source, { input })).toEqual(output);
  });

  it("knows nothing of the one before", async () => {
    await run("() => { globalThis.kept = 1; Array.prototype.map = null; JSON.parse = null; }");
    expect(await run("() => [typeof kept, [1].map((x) => x + 1), JSON.parse('1')]")).toEqual([
      "undefined",
      [2],
      1,
    ]);
  });

  it("has its dates in UTC", async () => {
    expect(await run("() => new Date(2026, 6, 1).toISOString()")).toBe("2026-07-01T00:00:00.000Z");
  });

  it("gives what was written to the console, bounded", async () => {
    const logs: string[] = [];
    const onLog = (lines: readonly string[]) => void logs.push(...lines);
    await run(
      "() => { console.log('a', { b: 1 }, [2], 3n); console.error(new TypeError('no')); console.log('x'.repeat(3000)); for (let n = 0; n < 300; n++) console.log(n); }",
      { onLog },
    );
    expect(logs.slice(0, 2)).toEqual(['a {"b":1} [2] 3', "TypeError: no"]);
    expect([logs[2]?.length, logs.length, logs.at(-1)]).toEqual([2001, 201, "… 103 more lines"]);
  });

  it("gives what was written before it failed", async () => {
    const logs: string[] = [];
    const onLog = (lines: readonly string[]) => void logs.push(...lines);
    await faultOf(run("() => { console.log('begun'); for (;;); }", { onLog, timeoutMs: 500 }));
    expect(logs).toEqual(["begun"]);
  });

  it("keeps its result where who gets its console throws, which is warned of", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const onLog = () => {
      throw new Error("disk full");
    };
    expect(await run("() => { console.log(1); return 2; }", { onLog })).toBe(2);
    expect(
      await faultOf(run("() => { console.log(1); for (;;); }", { onLog, timeoutMs: 500 })),
    ).toMatchObject({
      reason: "timeout",
    });
    expect(warned.mock.calls.map(([text]) => text)).toEqual(
      Array.from({ length: 2 }, () => 'The onLog of "test" threw: disk full'),
    );
    warned.mockRestore();
  });

  it.each([
    ["timeoutMs", Number.NaN],
    ["timeoutMs", 0],
    ["timeoutMs", Infinity],
    ["memoryBytes", Number.NaN],
    ["memoryBytes", 16 * 2 ** 20 - 1],
    ["maxOutputBytes", -1],
  ])("refuses %s of %s", async (option, value) => {
    const refused = run("() => 1", { [option]: value });
    await expect(refused).rejects.toThrow(SandboxOptionError);
    await expect(refused).rejects.toMatchObject({ code: "sandbox_option", kind: "usage", option });
  });

  it.each([Number.NaN, 0, -1])("is refused by a sandbox of %s workers", (workers) => {
    expect(() => createSandbox({ workers })).toThrow(
      "workers must be a finite number of at least 1",
    );
  });

  it("waits for a free worker where there are more than workers", async () => {
    const sums = [1, 2, 3, 4, 5].map((n) => run("(n) => n * 2", { input: n }));
    expect(await Promise.all(sums)).toEqual([2, 4, 6, 8, 10]);
  });
});

describe("a call of a sandboxed tool", () => {
  const source = ({ n }: { n: number }) => n * 2;
  const double = defineTool({
    name: "double",
    description: "Doubles.",
    input_schema: z.object({ n: z.number() }),
    execution: { sandbox: true, timeout_ms: 20_000 },
    handler: source,
  });

  it.each([
    ["of a handler", double, { n: 2 }, 4],
    ["of run_code", "run_code", { code: "1 + 1" }, { result: 2 }],
  ] as const)(
    "%s has its whole time when it has waited for a free worker",
    async (_, given, args, result) => {
      const narrow = createSandbox({ workers: 1 });
      const clock = new ManualClock();
      const busy = run("() => { for (let n = 0; n < 1e6; n++); return 1; }", {}, narrow);
      const tool = given === "run_code" ? runCodeTool(narrow) : given;
      const { signal } = new AbortController();
      const env = { clock, signal, sandbox: narrow };
      const call = { id: "1", name: tool.definition.name, args, reason: "" };
      const waiting = callStateless(tool, call, env);
      clock.advance(60_000);
      expect(await busy).toBe(1);
      expect((await waiting).result).toMatchObject({ outcome: "success", result });
      await narrow.close();
    },
  );

  it("that runs too long is a timeout", async () => {
    const forever = defineTool({
      name: "forever",
      description: "Never ends.",
      input_schema: z.object({}),
      execution: { sandbox: true, timeout_ms: 100 },
      handler: () => {
        for (;;);
      },
    });
    const env = { clock: new ManualClock(), signal: new AbortController().signal, sandbox };
    const call = { id: "1", name: "forever", args: {}, reason: "" };
    const { result } = await callStateless(forever, call, env);
    expect([result.outcome, result.error]).toEqual([
      "timeout",
      expect.stringContaining('Tool "forever" did not end within 100 ms'),
    ]);
  });
});

describe("a run that fails", () => {
  it.each<[string, string, Partial<SandboxError>]>([
    ["does not parse", "() => {\n let = ;\n}", { reason: "syntax", line: 2 }],
    ["is no function", "5", { reason: "syntax" }],
    ["throws", "() => {\n\n throw new TypeError('no');\n}", { reason: "threw", line: 3 }],
    ["rejects", "async () => { throw 'no'; }", { reason: "threw" }],
    ["parses bad JSON", "() => JSON.parse('{')", { reason: "threw" }],
    ["never settles", "() => new Promise(() => {})", { reason: "unsettled" }],
    ["never ends", "() => { for (;;); }", { reason: "timeout" }],
    ["allocates without end", "() => { const a = []; for (;;) a.push({}); }", { reason: "memory" }],
    ["calls itself without end", "function f() { f(); }", { reason: "stack" }],
    ["returns a function", "() => () => 1", { reason: "output" }],
    ["returns a circle", "() => { const a = {}; a.a = a; return a; }", { reason: "output" }],
    ["returns a big integer", "() => 1n", { reason: "output" }],
    [
      "returns too deep a value",
      "() => { let a = []; for (let n = 0; n < 600; n++) a = [a]; return a; }",
      { reason: "output" },
    ],
  ])("because its code %s says so", async (_what, source, fault) => {
    const timeoutMs = fault.reason === "timeout" ? 100 : 20_000;
    expect(await faultOf(run(source, { timeoutMs }))).toMatchObject({
      code: "sandbox",
      kind: "run",
      source: "test",
      ...fault,
    });
  });

  it("names the error, its line and what it said", async () => {
    const { message } = await faultOf(run("(x) =>\n x.y.z", { input: {} }));
    expect(message).toBe(
      "The code of \"test\" threw at line 2: TypeError: cannot read property 'z' of undefined.",
    );
  });

  it("says that code has to contain everything it uses", async () => {
    const { message } = await faultOf(run("() => limit + 1"));
    expect(message).toContain(
      "ReferenceError: 'limit' is not defined. Code in a sandbox must contain everything it uses",
    );
  });

  it("cuts a long message and tells nothing of the host", async () => {
    const { message } = await faultOf(run("() => { throw new Error('x'.repeat(1e6)); }"));
    expect(message.length).toBeLessThan(1_200);
    expect(message).not.toMatch(/node_modules|\.mjs|wasm/);
  });

  it("refuses input without a form in JSON", async () => {
    expect(await faultOf(run("(x) => x", { input: 1n }))).toMatchObject({ reason: "input" });
  });

  it.each([
    ["bytes", "() => 'é'.repeat(60)", 100],
    ["characters", "() => 'x'.repeat(99)", 100],
  ])("refuses more output than allowed, in %s", async (_unit, source, maxOutputBytes) => {
    expect(await faultOf(run(source, { maxOutputBytes }))).toMatchObject({ reason: "output" });
    expect(await run(source, { maxOutputBytes: 122 })).toHaveLength(source.includes("é") ? 60 : 99);
  });

  it("has the memory that it is given", async () => {
    const source =
      "() => { const a = []; for (let n = 0; n < 40; n++) a.push(new ArrayBuffer(2 ** 20)); return a.length; }";
    expect(await faultOf(run(source))).toMatchObject({ reason: "memory" });
    expect(await run(source, { memoryBytes: 64 * 2 ** 20 })).toBe(40);
  });

  it("lets code go on that caught the lack of memory", async () => {
    const source =
      "() => { try { new ArrayBuffer(2 ** 28); } catch (error) { return error.message; } }";
    expect(await run(source)).toBe("out of memory");
  });
});

describe("the watchdog", () => {
  /** QuickJS looks at no clock inside of this for many seconds. */
  const deaf = "() => [].concat(new Array(4e9)).indexOf(3)";

  it("kills a worker that does not stop by itself, and another takes its place", async () => {
    const own = createSandbox({ workers: 1 });
    expect(await faultOf(run(deaf, { timeoutMs: 50 }, own))).toMatchObject({ reason: "timeout" });
    expect(await run("() => 1", {}, own)).toBe(1);
    await own.close();
  });

  it("goes by the clock", async () => {
    const clock = new ManualClock();
    const own = createSandbox({ workers: 1, clock });
    const pending = faultOf(run(deaf, { timeoutMs: 60_000 }, own));
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(60_250);
    expect(await pending).toMatchObject({ reason: "timeout" });
    await own.close();
  });

  it("leaves no timer", async () => {
    const clock = new ManualClock();
    const own = createSandbox({ clock });
    await run("() => 1", {}, own);
    expect(clock.pending).toBe(0);
    await own.close();
  });
});

describe("an abort", () => {
  const reason = new Error("cancelled");

  it("ends a run at once with its reason", async () => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const own = createSandbox({ workers: 1, clock });
    const pending = run(
      "() => { for (;;); }",
      { signal: controller.signal, timeoutMs: 60_000 },
      own,
    );
    await expect.poll(() => clock.pending).toBe(1);
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    expect(await run("() => 1", {}, own)).toBe(1);
    await own.close();
  });

  it("takes a waiting run out of the queue", async () => {
    const controller = new AbortController();
    const own = createSandbox({ workers: 1 });
    const first = run("() => 1", {}, own);
    const second = run("() => 2", { signal: controller.signal }, own);
    const third = run("() => 3", {}, own);
    controller.abort(reason);
    await expect(second).rejects.toBe(reason);
    expect(await Promise.all([first, third])).toEqual([1, 3]);
    await own.close();
  });

  it("before the run starts nothing", async () => {
    await expect(run("() => 1", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("closing", () => {
  it("ends what runs and what waits, and a later run begins anew", async () => {
    const own = createSandbox({ workers: 1 });
    const first = faultOf(run("() => { for (;;); }", {}, own));
    const second = faultOf(run("() => 2", {}, own));
    await own.close();
    expect([(await first).reason, (await second).reason]).toEqual(["closed", "closed"]);
    expect(await run("() => 3", {}, own)).toBe(3);
    await own.close();
  });

  it("does no harm twice, or to a sandbox that ran nothing", async () => {
    const own = createSandbox();
    await own.close();
    await expect(own.close()).resolves.toBeUndefined();
  });
});

describe("a process", () => {
  const start = useChildren();

  it("with idle workers ends by itself, under tsx and with hostile options", async () => {
    const child = start("test/tools/sandbox/programs/run-and-end.ts");
    expect(JSON.parse(await child.nextLine())).toEqual({ sum: 3, offset: 0, env: "undefined" });
    await expect(child.nextLine()).rejects.toThrow("ended without printing");
  });

  it("that closes a sandbox while code runs in it stays until it is closed", async () => {
    const child = start("test/tools/sandbox/programs/close-while-running.ts");
    expect(await child.nextLine()).toBe("closed: closed");
    await expect(child.nextLine()).rejects.toThrow("ended without printing");
  });
});
