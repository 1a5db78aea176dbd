/** Bounds on what is compiled and evaluated. They are far above what a condition or a prompt needs. */
export const limits = {
  /** Characters of an expression. */
  sourceLength: 4000,
  /** Brackets inside brackets. */
  nesting: 32,
  /** Levels of the syntax tree: `a + b + c` has three. */
  depth: 200,
  /** Nodes of the syntax tree: `a + b` has three. */
  nodes: 1000,
  /** `all`, `exists`, `map` and so on inside one another. */
  comprehensions: 3,
  /** Characters of a regular expression. */
  patternLength: 1000,
  /** Parts of a JSON Schema's pattern, those in repetitions as often as they may repeat: `^a{3}$` has seven. */
  patternSize: 2000,
  /** Work of all patterns in one check of a value: a part of a pattern for each character of a text costs 1. */
  patternWork: 20_000_000,
  /** Work of one evaluation: an item gone through, a call, 16 characters handled or a part of the result each cost 1. */
  work: 500_000,
  /** Characters of a string that an evaluation makes. */
  stringLength: 1_000_000,
  /** Levels of a value that holds templates. */
  templateDepth: 64,
} as const;
