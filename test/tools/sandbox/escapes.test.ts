// oxlint-disable vitest/no-standalone-expect -- what has to hold after every attempt is said once, in afterEach
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createSandbox } from "../../../src/tools/sandbox/create-sandbox.ts";
import { SandboxError, type SandboxReason } from "../../../src/tools/sandbox/sandbox.ts";

const sandbox = createSandbox({ workers: 1 });
afterAll(() => sandbox.close());

const timeoutMs = 25_000;

function run(source: string, ms = timeoutMs): Promise<unknown> {
  const { signal } = new AbortController();
  return sandbox.run({ source, name: "attempt", input: { secret: 1 }, signal, timeoutMs: ms });
}

/** How code ends: with its value, or with the reason of its error, which must tell nothing of the host. */
async function endOf(source: string, ms?: number): Promise<unknown> {
  try {
    return { value: await run(source, ms) };
  } catch (thrown) {
    if (!(thrown instanceof SandboxError)) throw thrown;
    return /node_modules|\.mjs|wasm|prelude/.test(thrown.message) ? thrown.message : thrown.reason;
  }
}

const body = (code: string) => `async (input) => {${code}\n}`;

const prototypes = [Object.prototype, Array.prototype, Function.prototype, Promise.prototype];
const before = prototypes.map((one) => Reflect.ownKeys(one));

afterEach(async () => {
  expect(prototypes.map((one) => Reflect.ownKeys(one))).toEqual(before);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(await run("({ secret }) => JSON.stringify({ a: [secret] })")).toBe('{"a":[1]}');
});

it("has the language and a console, and nothing else", async () => {
  const names = (await run("() => Object.getOwnPropertyNames(globalThis)")) as string[];
  expect(names.toSorted().join(" ")).toBe(
    "AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape",
  );
});

describe("what is not there", () => {
  it.each([
    "process",
    "require",
    "module",
    "exports",
    "__dirname",
    "Buffer",
    "global",
    "self",
    "window",
    "fetch",
    "XMLHttpRequest",
    "WebSocket",
    "Worker",
    "WebAssembly",
    "Atomics",
    "setTimeout",
    "setInterval",
    "setImmediate",
    "queueMicrotask",
    "structuredClone",
    "postMessage",
    "importScripts",
    "performance",
    "crypto",
    "navigator",
    "std",
    "os",
    "scriptArgs",
    "print",
    "quickjs",
    "Module",
    "vm",
    "Deno",
    "Bun",
  ])("%s, not by any way to the global object", async (name) => {
    expect(await endOf(`() => ${name}`)).toBe("threw");
    const ways = [
      `typeof ${name}`,
      `typeof globalThis["${name}"]`,
      `typeof (0, eval)("this")["${name}"]`,
      `eval("typeof ${name}")`,
      `Function("return typeof ${name}")()`,
      `(() => {}).constructor("return typeof ${name}")()`,
      `"".constructor.constructor("return typeof ${name}")()`,
      `input.constructor.constructor("return typeof ${name}")()`,
      `console.log.constructor("return typeof ${name}")()`,
      `console.constructor.constructor("return typeof ${name}")()`,
      `(function () { return typeof this?.["${name}"]; })()`,
      `(function* () {}).constructor("return typeof ${name}")().next().value`,
      `await (async () => {}).constructor("return typeof ${name}")()`,
      `typeof Reflect.get(globalThis, "${name}")`,
      `(() => { try { null.x; } catch (e) { return e.constructor.constructor("return typeof ${name}")(); } })()`,
    ];
    const kinds = await run(body(`return [${ways.join(", ")}];`));
    expect(new Set(kinds as string[])).toEqual(new Set(["undefined"]));
  });

  it.each([
    'import("node:fs")',
    'import("fs")',
    'import("/etc/passwd")',
    'import("file:///etc/passwd")',
    'import("data:text/javascript,export default 1")',
    'import("https://example.com/x.js")',
    "eval('import(\"os\")')",
    "(async () => {}).constructor('return import(\"std\")')()",
  ])("a module by %s", async (attempt) => {
    expect(await endOf(body(`return await ${attempt};`))).toBe("threw");
  });

  it.each(["import.meta", "import fs from 'fs'", "export default 1"])("%s", async (attempt) => {
    expect(await endOf(body(attempt))).toBe("syntax");
  });

  it.each([
    "arguments.callee.caller",
    "(function f() { return f.caller; })()",
    "(function f() { return f.arguments; })()",
    "new Error().stack.includes('node')",
    "Error.prepareStackTrace",
    "Error.captureStackTrace?.({})",
    "console.log.caller",
  ])("the host's stack by %s", async (attempt) => {
    const end = await endOf(body(`return (${attempt}) || null;`));
    expect(end === "threw" || end === "syntax" || (end as { value: unknown }).value === null).toBe(
      true,
    );
  });

  it("a stack trace that names anything of the host", async () => {
    const stack = await run(body("try { null.x } catch (e) { return e.stack; }"));
    expect(stack).not.toMatch(/node|wasm|\/|file:/);
  });
});

describe("code that takes what it can", () => {
  it.each<[string, SandboxReason]>([
    ["for (;;);", "timeout"],
    ["for (;;) { try { for (;;); } catch {} finally { continue; } }", "timeout"],
    [
      "const again = () => { (async () => { for (;;); })().catch(again); }; again(); await new Promise(() => {});",
      "timeout",
    ],
    ["(function f() { Promise.resolve().then(f); })(); await new Promise(() => {});", "timeout"],
    ["for (;;) await null;", "timeout"],
    ["await { then(resolve) { for (;;); } };", "timeout"],
    ["const loop = { then(done) { done(loop); } }; await loop;", "timeout"],
    ["return /^(a+)+$/.test('a'.repeat(50) + 'b');", "timeout"],
    ["return '{'.repeat(9999).replace(/(.*)*$/, (m) => m).match(/((.*)*)*x/);", "timeout"],
    ["return [].concat(new Array(4e9)).indexOf(3);", "timeout"],
    ["return new Array(1e9).join('').length;", "timeout"],
    ["let n = 3n; for (;;) n *= n;", "timeout"],
    ["throw { get message() { for (;;); } };", "timeout"],
    ["throw new Proxy({}, { get() { for (;;); } });", "timeout"],
    ["return { toJSON() { for (;;); } };", "timeout"],
    ["return { get a() { for (;;); } };", "timeout"],
    ["for (const list = []; ; ) list.push({});", "memory"],
    ["for (const list = []; ; ) list.push(new ArrayBuffer(1e6));", "memory"],
    ["for (const list = []; ; ) list.push('x'.repeat(1e6) + list.length);", "memory"],
    ["return 'x'.repeat(2 ** 29).length;", "memory"],
    ["new Array(1e9).fill(0);", "memory"],
    ["const map = new Map(); for (let n = 0; ; n++) map.set(n, [n]);", "memory"],
    ["(function f() { f(); })();", "stack"],
    ["const f = () => [1].map(f); f();", "stack"],
    ["const o = { get x() { return o.x; } }; o.x;", "stack"],
    ["const o = { toJSON() { return JSON.stringify(o); } }; return o;", "stack"],
    ["const f = () => new Proxy({}, { get: () => f().x }); f().x;", "stack"],
    ["await (async function f() { await f(); })();", "stack"],
    ["class A { constructor() { new A(); } } new A();", "stack"],
    ["JSON.parse('['.repeat(1e6));", "stack"],
    ["eval('('.repeat(1e6));", "stack"],
    ["new RegExp('(?:'.repeat(1e6));", "stack"],
    ["await new Promise(() => {});", "unsettled"],
    ["return { then() {} };", "unsettled"],
    ["return 'x'.repeat(17e6);", "memory"],
  ])("%s is stopped", async (code, reason) => {
    expect(await endOf(body(code), reason === "timeout" ? 100 : 25_000)).toBe(reason);
  });

  it("gets no time by catching what stops it", async () => {
    const code = "for (let n = 0; n < 1e9; n++) { try { for (;;); } catch { return 'free'; } }";
    expect(await endOf(body(code), 50)).toBe("timeout");
  });
});

describe("what comes back", () => {
  it.each<[string, unknown]>([
    ["return { ['__proto__']: { polluted: true } };", "output"],
    ['return [{ a: JSON.parse(\'{"__proto__": {"polluted": true}}\') }];', "output"],
    ["return { ['__pro\\u0074o__']: 1 };", "output"],
    [
      "return { constructor: { prototype: { polluted: true } } };",
      { value: { constructor: { prototype: { polluted: true } } } },
    ],
    [
      "return { a: '__proto__', 'b\"__proto__\"': 1 };",
      { value: { a: "__proto__", 'b"__proto__"': 1 } },
    ],
    ["Object.prototype.toJSON = () => 'taken'; return { a: 1 };", { value: "taken" }],
    ["String.prototype.toJSON = () => 1; return ['a'];", { value: ["a"] }],
    ["Object.prototype.polluted = true; return {};", { value: {} }],
    ["JSON.stringify = () => '{'; return 1;", { value: 1 }],
    ["Promise.prototype.then = () => 5; return 1;", { value: 1 }],
    ["Promise = null; Object = null; String = null; JSON = null; return 1;", { value: 1 }],
    ["globalThis.console = null; return 1;", { value: 1 }],
    [
      "Object.defineProperty(Array.prototype, 0, { set() { throw 1; } }); console.log(1); return 1;",
      { value: 1 },
    ],
    ["return { then(resolve) { resolve({ then(done) { done(7); } }); } };", { value: 7 }],
    ["return { get a() { throw new Error('no'); } };", "output"],
    ["return new Proxy({}, { ownKeys() { throw 1; } });", "output"],
    ["return new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 40 : 1) });", "timeout"],
    ["return { toJSON: () => () => {} };", "output"],
    ["return () => 1;", "output"],
    ["return Symbol('x');", "output"],
    ["return 10n;", "output"],
    ["const a = []; a[0] = a; return a;", "output"],
    ["let a = []; for (let n = 0; n < 2000; n++) a = [a]; return a;", "output"],
    ["return '\\u2028</script>${process.exit()}';", { value: "\u2028</script>${process.exit()}" }],
    ["return new SharedArrayBuffer(8);", { value: {} }],
    [
      "return { $ref: '#', type: 'ended', ok: true, end: {} };",
      { value: { $ref: "#", type: "ended", ok: true, end: {} } },
    ],
  ])("of %s is plain JSON or refused", async (code, end) => {
    expect(await endOf(body(code), end === "timeout" ? 100 : undefined)).toEqual(end);
  });
});

describe("what is thrown", () => {
  it.each([
    "throw null;",
    "throw undefined;",
    "throw 'text';",
    "throw 1n;",
    "throw Symbol('x');",
    "throw () => 1;",
    "throw {};",
    "throw { name: { toString() { throw 1; } }, message: {} };",
    "throw { get message() { throw new Error('inner'); } };",
    "throw { get stack() { throw 1; }, message: 'm' };",
    "throw { message: 'x'.repeat(1e7), name: 'y'.repeat(1e6), stack: 'code.js:99999999999' };",
    "throw new Proxy(new Error('x'), { get() { throw 1; }, getPrototypeOf() { throw 2; } });",
    "throw new Proxy(() => {}, {});",
    "throw Object.create(null);",
    "throw new AggregateError([new Error('a')], 'b');",
    "throw Object.assign(new Error('x'), { cause: globalThis });",
    "Error.prototype.toString = () => { throw 1; }; throw new Error('x');",
    "const { revoke, proxy } = Proxy.revocable({}, {}); revoke(); throw proxy;",
    "JSON.stringify = null; String.prototype.slice = null; throw { a: 1 };",
    "return Promise.reject({ then: 1 });",
  ])("by %s is told as text", async (code) => {
    expect(await endOf(body(code))).toBe("threw");
  });

  it("cannot pass for what the sandbox itself says", async () => {
    expect(
      await endOf(
        body("throw Object.assign(new Error('interrupted'), { name: 'InternalError' });"),
      ),
    ).toBe("threw");
  });
});

describe("code that closes what is around it", () => {
  it.each<[string, unknown]>([
    ["}) ; (() => { return 1 ", { value: 1 }],
    ["})(); process.exit(); (() => {", "threw"],
    ["}\n}\n) ; globalThis.x = 1 ; ({ a() { {", "syntax"],
    ["*/ process.exit() /*", "syntax"],
    ["return 1 } // ", "syntax"],
    ["<!-- html comment\nreturn 2", { value: 2 }],
    ["return 3 //", { value: 3 }],
    ["return `${(() => 4)()}` /*", "syntax"],
    ["\u2028return 5", { value: 5 }],
    ["#!/usr/bin/env node", "syntax"],
    ["return 6\u0000", "syntax"],
  ])("as %j stays inside", async (code, end) => {
    expect(await endOf(body(code))).toEqual(end);
  });

  it.each<[string, SandboxReason]>([
    ["1)(", "threw"],
    ["", "syntax"],
    ["(", "syntax"],
    ["x => x) ; (process", "threw"],
    ["class A {}", "threw"],
    ["new Proxy(() => {}, { apply() { throw 1; } })", "threw"],
    ["globalThis", "syntax"],
    ["(() => { throw 1 })()", "threw"],
    ["(() => { for (;;); })()", "timeout"],
  ])("as the source %j stays inside", async (source, reason) => {
    expect(await endOf(source, reason === "timeout" ? 100 : undefined)).toBe(reason);
  });
});

it("leaves nothing for the next run, wherever it was put", async () => {
  await run(
    body(`
      globalThis.left = 1;
      Object.prototype.left = Array.prototype.left = Function.prototype.left = 1;
      Symbol.for("left").constructor.left = 1;
      console.left = 1;
      JSON.left = 1;
      new FinalizationRegistry(() => { globalThis.left = 2; }).register({}, 1);
      Promise.resolve().then(() => { globalThis.left = 3; });
      Object.defineProperty(Object.prototype, "secret", { get: () => "stolen", set() {} });
    `),
  );
  expect(
    await run(
      "(input) => [typeof left, {}.left, [].left, Symbol.left, console.left, JSON.left, input.secret]",
    ),
  ).toEqual(["undefined", null, null, null, null, null, 1]);
});
