import { z } from "zod";
import type { StatelessTool, ToolContext } from "../../definition/tool/tool.ts";
import { type Sandbox, SandboxError } from "../sandbox/sandbox.ts";
import { builtinTool } from "./builtin-tool.ts";

/** Milliseconds a piece of code may run. */
const timeoutMs = 5_000;

const input = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(200_000)
    .describe("JavaScript: an expression, or the body of an async function that ends with return"),
  input: z.unknown().optional().describe("JSON that the code sees as the variable input"),
});

/** The tool by which a model runs code of its own, in a sandbox. */
export function runCodeTool(sandbox: Sandbox): StatelessTool {
  const tool = builtinTool({
    name: "run_code",
    display_name: "Run code",
    description:
      "Runs JavaScript and gives the JSON that it returns. The code is an expression (input.a + 1) or the body of an async function (const n = 2; return n * 2), in strict mode; await is allowed. It sees the variable input, the language (Math, Date in UTC, JSON, RegExp, Map, BigInt, Promise, typed arrays) and console.log, whose lines come back as logs. There are no modules, require, import, fetch, files, timers or process, and nothing is kept between calls.",
    input_schema: input,
    permissions: ["code:run"],
    execution: { timeout_ms: timeoutMs },
    handler: async ({ code, input: given = null }, { signal }: ToolContext) => {
      const logs: string[] = [];
      const onLog = (lines: readonly string[]) => void logs.push(...lines);
      const run = (source: string) =>
        sandbox.run({ source, input: given, name: "run_code", signal, timeoutMs, onLog });
      try {
        return resultOf(code, await run(asExpression(code)), logs, true);
      } catch (thrown) {
        if (!isSyntaxError(thrown)) throw thrown;
      }
      return resultOf(code, await run(asBody(code)), logs, false);
    },
  });
  return Object.freeze({ ...tool, hasOwnTimeout: true });
}

/** On the line of what comes before it, so that lines of errors are lines of the code. */
function asExpression(code: string): string {
  let expression = code.trimEnd();
  while (expression.endsWith(";")) expression = expression.slice(0, -1).trimEnd();
  return `async (input) => (${expression}\n)`;
}

function asBody(code: string): string {
  return `async (input) => {${code}\n}`;
}

function isSyntaxError(thrown: unknown): boolean {
  return thrown instanceof SandboxError && thrown.reason === "syntax";
}

function resultOf(code: string, result: unknown, logs: readonly string[], isExpression: boolean) {
  const returnsNothing = result === null && !isExpression && !/\breturn\b/.test(code);
  return {
    result,
    ...(logs.length > 0 && { logs }),
    ...(returnsNothing && { note: "The code has no return, so it gave nothing." }),
  };
}
