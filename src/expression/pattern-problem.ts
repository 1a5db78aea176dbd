import { cel, once } from "./cel.ts";
import { limits } from "./limits.ts";

const matchNothing = once(() => {
  const { celEnv, parse, plan } = cel();
  return plan(celEnv(), parse('"".matches(pattern)'));
});

/** What is wrong with a regular expression (RE2's syntax), if anything. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > limits.patternLength)
    return `the regular expression is longer than ${limits.patternLength} characters`;
  const result = matchNothing()({ pattern });
  if (!cel().isCelError(result)) return undefined;
  return `the regular expression is not valid: ${result.message.replace("error parsing regexp: ", "")}`;
}
