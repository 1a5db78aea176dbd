/** Words that begin an order or a question, so that "and" before one of them parts two tasks. */
const openers =
  "read|list|show|find|search|count|calculate|compute|tell|give|open|parse|check|get|fetch|send|write|save|create|delete|multiply|divide|subtract|add|convert|translate|summari[sz]e|look|grep|run|call|what|how|who|when|where|report|email|square|double|halve|use|compare|combine|merge|explain|describe|draft|compose|extract|collect|gather|measure|estimate|identify|analy[sz]e|let";

const links = [
  /;\s+/,
  /,?\s+(?:and\s+)?then,?\s+/i,
  /,?\s+(?:and\s+)?(?:after that|afterwards|finally|next),?\s+/i,
  /[.!?]\s+(?=["'\p{Lu}])/u,
  /\n+/,
  new RegExp(String.raw`,?\s+and\s+(?:also\s+)?(?=(?:${openers})\b)`, "i"),
  new RegExp(String.raw`,\s+(?=(?:${openers})\b)`, "i"),
];
const link = new RegExp(links.map((one) => `(?:${one.source})`).join("|"), "giu");
const lead =
  /^(?:please|and|then|also|first(?:ly)?|second(?:ly)?|next|finally|after that|afterwards|lastly)[,:]?\s+/i;

const listed =
  /\b(?:(?:each|all|every one) of (?:these|the following)|these|the following)(?: \w+)?$/i;
const order = /\b(?:then|after that|afterwards|finally|next|lastly)\b/i;
const opener = new RegExp(`^(?:${openers})\\b`, "i");

export interface RequestPart {
  readonly text: string;
  /** Whether it is said to come after the part before. */
  readonly isAfter: boolean;
  /** Whether the parts are numbered. */
  readonly isNumbered: boolean;
  /** Whether it stands in a paragraph after the first, and is no order. */
  readonly isMaterial: boolean;
}

/** A request as its parts in the order they are to be done: numbered, listed, or one after the other. Never empty. */
export function subtasksOf(request: string): string[] {
  return requestParts(request).map(({ text }) => text);
}

/** The same with how the parts are said to follow each other. */
export function requestParts(request: string): readonly RequestPart[] {
  const text = request.trim();
  const items = numbered(text);
  const parts = items ?? bullets(text) ?? chained(text);
  const isNumbered = items !== null;
  const tidy: RequestPart[] = [];
  for (const { text: part, link: before } of parts) {
    if (!/[\p{L}\p{N}]/u.test(part)) continue;
    const isApart = /\n\s*\n/.test(before) || tidy.at(-1)?.isMaterial === true;
    const isMaterial = isApart && !isOrder(part.trim());
    tidy.push({ ...withoutLead(part, before), isNumbered, isMaterial });
  }
  return tidy.length > 0 ? tidy : [{ text, isAfter: false, isNumbered: false, isMaterial: false }];
}

interface LinkedPart {
  readonly text: string;
  /** What stands between it and the part before. */
  readonly link: string;
}

/** `1. … 2. …` or `1) … 2) …`, counted from 1 without a gap. */
function numbered(text: string): LinkedPart[] | null {
  const starts: { at: number; from: number }[] = [];
  for (const match of text.matchAll(/(?<=^|\s)(\d{1,2})[.)]\s+/g)) {
    if (Number(match[1]) !== starts.length + 1) continue;
    starts.push({ at: match.index, from: match.index + match[0].length });
  }
  if (starts.length < 2) return null;
  const items = starts.map(({ from }, i) => text.slice(from, starts[i + 1]?.at).trim());
  // What follows the last item on a line of its own is a part too, where it is an order.
  const [last, after] = firstLine(items.at(-1) ?? "");
  if (!isOrder(after)) return items.map(unlinked);
  return [...items.slice(0, -1).map(unlinked), unlinked(last), ...chained(after)];
}

function bullets(text: string): LinkedPart[] | null {
  const bullet = /^\s*[-*•]\s+/;
  const lines = text.split("\n");
  const marked = lines.filter((line) => bullet.test(line));
  if (marked.length < 2) return null;
  const first = lines.findIndex((line) => bullet.test(line));
  const last = lines.findLastIndex((line) => bullet.test(line));
  const after = lines
    .slice(last + 1)
    .join("\n")
    .trim();
  const items = marked.map((line) => line.replace(bullet, "").trim());
  const verb = /^(.*):$/.exec(lines[first - 1]?.trim() ?? "")?.[1] ?? "";
  const whole = items.map((item) =>
    isOrder(verb) && !isOrder(item) ? withItem(verb, item) : item,
  );
  return [...whole.map(unlinked), ...(isOrder(after) ? chained(after) : [])];
}

/** "Count the words of each of these files" with one of them. */
function withItem(verb: string, item: string): string {
  const named = verb.replace(listed, () => item);
  return named === verb ? `${verb}: ${item}` : named;
}

function unlinked(text: string): LinkedPart {
  return { text, link: "" };
}

function isOrder(text: string): boolean {
  return lead.test(text) || opener.test(text);
}

/** The first line, and what follows it. */
function firstLine(text: string): readonly [string, string] {
  const at = text.indexOf("\n");
  return at < 0 ? [text, ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** What stands in quotes or parentheses is never parted. */
function chained(text: string): LinkedPart[] {
  const quotes: string[] = [];
  const masked = text.replace(
    /"[^"]*"|“[^”]*”|`[^`]*`|\([^()]*\)|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu,
    (quote) => {
      quotes.push(quote);
      return `\uE000${quotes.length - 1}\uE000`;
    },
  );
  const bounds = [{ index: 0, 0: "" }, ...masked.matchAll(link)];
  return bounds.map(({ index, 0: before }, i) => ({
    text: masked
      .slice(index + before.length, bounds[i + 1]?.index)
      .replace(/\uE000(\d+)\uE000/g, (_, at: string) => quotes[Number(at)] ?? ""),
    link: before,
  }));
}

function withoutLead(part: string, before: string): Pick<RequestPart, "text" | "isAfter"> {
  let text = part.trim();
  let isAfter = order.test(before);
  for (let found = lead.exec(text); found !== null; found = lead.exec(text)) {
    isAfter ||= order.test(found[0]);
    text = text.slice(found[0].length);
  }
  return { text: text.replace(/[,;]+$/, ""), isAfter };
}
