import { afterAll, describe, expect, it } from "vitest";
import { runCodeTool } from "../../../src/tools/builtins/run-code.ts";
import { createSandbox } from "../../../src/tools/sandbox/create-sandbox.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";

const sandbox = createSandbox();
afterAll(() => sandbox.close());

const runCode = (args: Record<string, unknown>) => callBuiltin(runCodeTool(sandbox), args);

describe("run_code", () => {
  it.each<[string, unknown]>([
    ["1 + 2", 3],
    ["1 + 2;\n", 3],
    ["input.list.map((n) => n * 2)", [2, 4]],
    ["{ a: 1 }", { a: 1 }],
    ["await Promise.resolve(4) // four", 4],
    ["const [a, b] = input.list; return a + b;", 3],
    ["for (const n of input.list) { if (n > 1) return n; }", 2],
    ["const text = `a\nb`; return text.split('\\n');", ["a", "b"]],
    ["function twice(n) { return n * 2; }\nreturn twice(await 3);", 6],
    ["return", null],
  ])("gives what %j gives", async (code, result) => {
    expect(await runCode({ code, input: { list: [1, 2] } })).toEqual({
      outcome: "success",
      result: { result },
      error: "",
    });
  });

  it("gives the lines of the console with it", async () => {
    const { result } = await runCode({ code: "console.log('n is', 2); return 2;" });
    expect(result).toEqual({ result: 2, logs: ["n is 2"] });
  });

  it("says that code without return gives nothing", async () => {
    const { result } = await runCode({ code: "const n = 2;\nn * 2;" });
    expect(result).toEqual({ result: null, note: "The code has no return, so it gave nothing." });
  });

  it.each([
    ["const a = 1;\nconst = 2;\nreturn a;", "cannot be read at line 2"],
    ["const a = 1;\n\nreturn a.b.c;", "threw at line 3: TypeError: cannot read property 'c'"],
    ["require('fs')", "'require' is not defined. Code in a sandbox must contain everything"],
    ["await fetch('http://127.0.0.1')", "'fetch' is not defined"],
    ["throw new Error('too small')", "threw at line 1: Error: too small."],
    ["return JSON.parse('{')", "threw at line 1: SyntaxError"],
  ])("is an error for %j", async (code, error) => {
    expect(await runCode({ code })).toMatchObject({
      outcome: "error",
      error: expect.stringContaining(error),
    });
  });

  it("reads hostile ends of code at once", async () => {
    const code = `return 1 ${"; ".repeat(90_000)}/**/`;
    expect(await runCode({ code })).toMatchObject({ result: { result: 1 } });
  });

  it("asks for the permission code:run and has five seconds", () => {
    const { definition } = runCodeTool(sandbox);
    expect(definition).toMatchObject({
      name: "run_code",
      permissions: [{ name: "code:run", required: true }],
      execution: { timeout_ms: 5_000 },
      is_builtin: true,
    });
  });
});
