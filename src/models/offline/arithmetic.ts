const smallNumbers: readonly string[] =
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ");

const number = String.raw`\d+(?:\.\d+)?`;
const list = String.raw`${number}(?:\s*(?:,\s*and|,|and)\s*${number})+`;

/** Phrases as operators, tried in this order. */
const phrases: readonly (readonly [RegExp, string | ((...match: string[]) => string)])[] = [
  [/[×✕]/g, "*"],
  [/÷/g, "/"],
  [/[−–]/g, "-"],
  [/(\d),(?=\d{3}\b)/g, "$1"],
  [/[$€£](?=\d)/g, ""],
  [new RegExp(String.raw`\b(?:sum|total) of (${list})`, "g"), (_, all = "") => joined(all, "+")],
  [new RegExp(String.raw`\bproduct of (${list})`, "g"), (_, all = "") => joined(all, "*")],
  [
    new RegExp(String.raw`\b(?:average|mean) of (${list})`, "g"),
    (_, all = "") => `${joined(all, "+")} / ${numbersIn(all).length}`,
  ],
  [new RegExp(String.raw`\bdifference between (${number}) and (${number})`, "g"), "($1 - $2)"],
  [new RegExp(String.raw`\bsubtract (${number}) from (${number})`, "g"), "$2 - $1"],
  [new RegExp(String.raw`\badd (${number}) to (${number})`, "g"), "$2 + $1"],
  [new RegExp(String.raw`\badd (${number}) and (${number})`, "g"), "$1 + $2"],
  [new RegExp(String.raw`\bmultiply (${number}) (?:by|and|with) (${number})`, "g"), "$1 * $2"],
  [new RegExp(String.raw`\bdivide (${number}) by (${number})`, "g"), "$1 / $2"],
  [
    new RegExp(String.raw`\b(?:increase|raise) (${number}) by (${number})\s*(?:%|percent)`, "g"),
    "$1 * (1 + $2 / 100)",
  ],
  [
    new RegExp(String.raw`\b(?:decrease|reduce) (${number}) by (${number})\s*(?:%|percent)`, "g"),
    "$1 * (1 - $2 / 100)",
  ],
  [new RegExp(String.raw`(${number})\s*(?:%|percent) off (${number})`, "g"), "$2 * (1 - $1 / 100)"],
  [new RegExp(String.raw`(${number})\s*(?:%|percent) of\b`, "g"), "$1 / 100 *"],
  [new RegExp(String.raw`(${number})\s*(?:percent\b|%(?!\s*[\d(]))`, "g"), "($1 / 100)"],
  [new RegExp(String.raw`\bsquare root of (${number})`, "g"), "sqrt($1)"],
  [new RegExp(String.raw`\bsquare (${number})`, "g"), "$1 ^ 2"],
  [/\s+squared\b/g, " ^ 2"],
  [/\s+cubed\b/g, " ^ 3"],
  [/\b(?:raised )?to the power(?: of)?\b/g, "^"],
  [/\*\*/g, "^"],
  [/\bhalf of\b/g, "0.5 *"],
  [/\b(?:double|twice)\b/g, "2 *"],
  [/\btriple\b/g, "3 *"],
  [/\b(?:multiplied by|times)\b/g, "*"],
  [/(\d)\s*x\s*(?=\d)/g, "$1 * "],
  [/\b(?:divided by|over)\b/g, "/"],
  [/\bplus\b/g, "+"],
  [/\bminus\b/g, "-"],
  [/\b(?:modulo|mod)\b/g, "%"],
];

/** What is said about the number before: "add 3", "multiply it by 4". */
const continuations: readonly (readonly [RegExp, string])[] = [
  [new RegExp(String.raw`^(?:and )?(?:add|plus) (${number})(?: to @)?`), "@ + $1"],
  [new RegExp(String.raw`\badd @ to (${number})`), "$1 + @"],
  [new RegExp(String.raw`\bsubtract @ from (${number})`), "$1 - @"],
  [new RegExp(String.raw`^(?:and )?(?:subtract|minus) (${number})(?: from @)?`), "@ - $1"],
  [new RegExp(String.raw`^(?:and )?(?:multiply|times)(?: @)?(?: by)? (${number})`), "@ * $1"],
  [new RegExp(String.raw`^(?:and )?divide(?: @)?(?: by)? (${number})`), "@ / $1"],
  [/^(?:and )?square @/, "@ ^ 2"],
  [/^(?:and )?halve @/, "@ / 2"],
];

/**
 * The longest arithmetic expression that the text says, in digits, words or both: numbers, `+ - * / % ^`, parentheses and
 * `sqrt`; null when there is none. Percentages become divisions by 100.
 * @param before the number that "it", "that" and "the result" stand for
 */
export function expressionIn(text: string, before: string | null = null): string | null {
  let plain = withoutOthers(text.toLowerCase());
  for (const [i, name] of smallNumbers.entries()) {
    plain = plain.replace(new RegExp(`\\b${name}\\b`, "g"), String(i));
  }
  if (before !== null) plain = insertBefore(plain, before);
  for (const [phrase, operator] of phrases) plain = plain.replace(phrase, operator as string);
  return longestExpression(
    plain,
    /\b(what|how much|calculate|compute|evaluate|solve)\b|=/.test(plain),
  );
}

function insertBefore(text: string, before: string): string {
  const value = before.startsWith("-") ? `(${before})` : before;
  const marked = text
    .trim()
    .replace(/\b(?:it|that|this|(?:the|that|this) (?:result|answer|number|sum|total))\b/g, "@");
  for (const [pattern, expression] of continuations) {
    if (pattern.test(marked)) return marked.replace(pattern, expression).replaceAll("@", value);
  }
  return marked.replaceAll("@", value);
}

/** Dates, times, versions, ranges in names and paths are no arithmetic. */
function withoutOthers(text: string): string {
  return text
    .replace(/https?:\S+/g, "#")
    .replace(/\b\d{4}-\d{2}-\d{2}\S*/g, "#")
    .replace(/\b\d{1,2}:\d{2}(:\d{2})?\b/g, "#")
    .replace(/\b\d+(\.\d+){2,}\b/g, "#")
    .replace(/[\w.-]*[a-z_][\w.-]*\/[\w./-]*/g, "#")
    .replace(/\b[a-z_]+[-_.]?\d[\w.-]*/g, (word) => (word.startsWith("sqrt") ? word : "#"));
}

const token = /sqrt|\d+(?:\.\d+)?|[-+*/^%()]|\S/g;

function longestExpression(text: string, asked: boolean): string | null {
  const tokens = text.match(token) ?? [];
  let best: string[] = [];
  for (let start = 0; start < tokens.length; start += 1) {
    const end = expressionEnd(tokens, start);
    if (end - start > best.length) best = tokens.slice(start, end);
    if (end > start) start = end - 1;
  }
  if (!best.some((one, i) => one === "sqrt" || (i > 0 && /^[-+*/^%]$/.test(one)))) return null;
  const written = render(best);
  // "lines 3-5" and "24/7" are no request to calculate.
  const loose = best.length === 3 && /^[-/]$/.test(best[1] ?? "");
  if (loose && !asked && text.includes(best.join(""))) return null;
  return written;
}

/** Index after the longest well-formed expression that begins at `start`; `start` when none does. */
function expressionEnd(tokens: readonly string[], start: number): number {
  const afterTerm = term(tokens, start);
  let end = afterTerm;
  while (end > start && /^[-+*/^%]$/.test(tokens[end] ?? "")) {
    const next = term(tokens, end + 1);
    if (next === end + 1) break;
    end = next;
  }
  return end;
}

function term(tokens: readonly string[], at: number): number {
  const sign = tokens[at] === "-" ? 1 : 0;
  const call = tokens[at + sign] === "sqrt" ? 1 : 0;
  const head = at + sign + call;
  if (call === 0 && /^\d/.test(tokens[head] ?? "")) return head + 1;
  if (tokens[head] !== "(") return at;
  const inner = expressionEnd(tokens, head + 1);
  return inner > head + 1 && tokens[inner] === ")" ? inner + 1 : at;
}

function render(tokens: readonly string[]): string {
  let text = "";
  for (const [i, one] of tokens.entries()) {
    const binary = /^[-+*/^%]$/.test(one) && i > 0 && !/^[-+*/^%(]$/.test(tokens[i - 1] ?? "(");
    text += binary ? ` ${one} ` : one;
  }
  return text;
}

function numbersIn(text: string): string[] {
  return text.match(new RegExp(number, "g")) ?? [];
}

function joined(all: string, operator: string): string {
  return `(${numbersIn(all).join(` ${operator} `)})`;
}
