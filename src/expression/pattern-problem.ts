import { celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import { limits } from "./limits.ts";

const matchNothing = plan(celEnv(), parse('"".matches(pattern)'));

/** What is wrong with a regular expression (RE2's syntax), if anything. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > limits.patternLength)
    return `the regular expression is longer than ${limits.patternLength} characters`;
  const result = matchNothing({ pattern });
  if (!isCelError(result)) return undefined;
  return `the regular expression is not valid: ${result.message.replace("error parsing regexp: ", "")}`;
}
