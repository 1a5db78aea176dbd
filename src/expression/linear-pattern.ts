import { errorMessage } from "../errors.ts";
import { re2 } from "./cel.ts";
import { translatePattern } from "./ecma-pattern.ts";
import { limits } from "./limits.ts";

/** A regular expression that is matched in time linear in the text, without backtracking. */
export interface LinearPattern {
  /** As it was written. */
  readonly pattern: string;
  /** Work that one character of a text costs at most. */
  readonly size: number;
  /** Whether it is found anywhere in the text. */
  readonly test: (text: string) => boolean;
}

/**
 * Compiles a regular expression of ECMA-262, which JSON Schema's patterns are in, for RE2's engine. `problem` says why it
 * cannot be: it is none, or has lookaround, backreferences or other parts that no engine without backtracking has.
 */
export function linearPattern(
  pattern: string,
): { readonly ok: true; readonly value: LinearPattern } | { ok: false; problem: string } {
  if (pattern.length > limits.patternLength) {
    return refused(`the regular expression is longer than ${limits.patternLength} characters`);
  }
  const syntaxProblem = problemIn(pattern);
  if (syntaxProblem !== undefined) return refused(`not a regular expression: ${syntaxProblem}`);
  try {
    const { source, size } = translatePattern(pattern);
    if (size > limits.patternSize) {
      return refused(`the regular expression repeats more than ${limits.patternSize} parts`);
    }
    const compiled = re2().RE2JS.compile(source);
    return { ok: true, value: { pattern, size, test: (text) => compiled.test(text) } };
  } catch (thrown) {
    const part = errorMessage(thrown).replace("error parsing regexp: ", "");
    return refused(`the regular expression cannot be matched in linear time: it has ${part}`);
  }
}

function refused(problem: string) {
  return { ok: false, problem } as const;
}

/** JavaScript only parses it here. With the flag `u` alone it takes `\u{61}+`, and without it `\-`. */
function problemIn(pattern: string): string | undefined {
  const [problem, ...others] = ["", "u"].flatMap((flags) => {
    try {
      RegExp(pattern, flags);
      return [];
    } catch (thrown) {
      return [errorMessage(thrown)];
    }
  });
  return others.length > 0 ? problem : undefined;
}
