import type { ExpressionProblem } from "./problem.ts";

/**
 * Names such as `nodes.my-node`, which CEL reads as a subtraction: the problems that this causes become one that says
 * how to write the name.
 */
export function explainMinusNames(
  source: string,
  problems: readonly ExpressionProblem[],
): ExpressionProblem[] {
  const names = [...source.matchAll(/([A-Za-z_][\w.]*)\.([A-Za-z_]\w*(?:-[A-Za-z_]\w*)+)/g)];
  const explained = new Map<number, ExpressionProblem>();
  for (const problem of problems) {
    const name = names.find(
      ({ index, 0: text }) => index <= problem.offset && problem.offset < index + text.length,
    );
    if (name === undefined || !problem.message.startsWith("unknown ")) {
      explained.set(explained.size - source.length - 1, problem);
      continue;
    }
    const [text, owner, field] = name;
    explained.set(name.index, {
      message: `"-" is a minus in ${text}: write ${owner}["${field}"]`,
      offset: name.index,
    });
  }
  return [...explained.values()];
}
