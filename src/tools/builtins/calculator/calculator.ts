import { z } from "zod";
import { builtinTool } from "../builtin-tool.ts";
import { toResult } from "./arithmetic.ts";
import { evaluate } from "./evaluate.ts";

const input = z.strictObject({
  expression: z
    .string()
    .min(1)
    .max(1_000)
    .describe("For example: 17.5% of 2340, (3 + 4) * 2^10, round(sqrt(2), 3)"),
});

/** Evaluates arithmetic with a parser of its own: no code is run. */
export const calculator = builtinTool({
  name: "calculator",
  display_name: "Calculator",
  description:
    "Evaluates an arithmetic expression. Operators: + - * / % (remainder) ^ (power), parentheses, and percent (17.5% of 2340; 10% alone is 0.1). Functions: sqrt cbrt abs sign round(x, digits) floor ceil trunc min max mod pow exp ln log(x, base 10) log2 log10 sin cos tan asin acos atan atan2 hypot (radians). Constants: pi, tau, e. Whole numbers are exact; those beyond 2^53 come as a string of digits.",
  input_schema: input,
  handler: ({ expression }) => ({ result: toResult(evaluate(expression)) }),
});
