import type { Configuration, MicromarkToken, Rule } from "markdownlint";
import type { FormatCheck } from "./format-check.ts";
import { markdownBoundsProblem } from "./markdown-bounds.ts";

const mostProblems = 10;

/** markdownlint has no rule about it: CommonMark closes an open fence at the end, and shows all of the rest as code. */
const unclosedFence: Rule = {
  names: ["unclosed-fence"],
  description: "A code block is not closed",
  tags: ["code"],
  parser: "micromark",
  function: ({ parsers }, onError) => {
    const left: MicromarkToken[] = [...parsers.micromark.tokens];
    for (let token = left.pop(); token !== undefined; token = left.pop()) {
      const fences = token.children.filter(({ type }) => type === "codeFencedFence");
      if (token.type === "codeFenced" && fences.length < 2)
        onError({ lineNumber: token.startLine });
      left.push(...token.children);
    }
  },
};

/**
 * Rules about texts that are not shown as they were meant, and what to do about each. Rules of style are off, and so is
 * MD037 (spaces inside emphasis): it takes `a * b * c` for one.
 */
const advice: Readonly<Record<string, string>> = {
  "unclosed-fence": "the code block is not closed; end it with the same fence",
  MD011: "the link is the wrong way round; write [text](address)",
  MD018: "the heading has no space after its #; write a space there",
  MD020: "the heading has no space inside its closing #; write a space there",
  MD042: "the link has no address; give it one or write plain text",
  MD052: "the link or image refers to a label that is not defined; define it or write the address",
  MD056: "the row of the table has not as many cells as its heading; give it as many",
};

const config: Configuration = {
  default: false,
  ...Object.fromEntries(Object.keys(advice).map((rule) => [rule, true])),
};

/** The text has to be Markdown that is shown as it was meant, within the bounds of what can be parsed. */
export const checkMarkdown: FormatCheck = async ({ text }) => {
  const beyond = markdownBoundsProblem(text);
  if (beyond !== null) return [beyond];
  const { lint } = await import("markdownlint/sync");
  const { text: found = [] } = lint({
    strings: { text },
    config,
    customRules: [unclosedFence],
    // The text may not turn rules off.
    noInlineConfig: true,
    frontMatter: null,
  });
  const problems = found.map(({ lineNumber, ruleNames }) => {
    const [rule = ""] = ruleNames;
    return `Line ${lineNumber}: ${advice[rule] ?? "the Markdown is broken"}.`;
  });
  return [...new Set(problems)].slice(0, mostProblems);
};
