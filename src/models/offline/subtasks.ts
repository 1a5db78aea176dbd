/** Words that begin an order or a question, so that "and" before one of them parts two tasks. */
const openers =
  "read|list|show|find|search|count|calculate|compute|tell|give|open|parse|check|get|fetch|send|write|save|create|delete|multiply|divide|subtract|add|convert|translate|summari[sz]e|look|grep|run|call|what|how|who|when|where|report|email|square|double|halve|use";

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

/** A request as its parts in the order they are to be done: numbered, listed, or one after the other. Never empty. */
export function subtasksOf(request: string): string[] {
  const text = request.trim();
  const items = numbered(text) ?? bullets(text);
  const parts = items ?? chained(text);
  const tidy = parts.map(withoutLead).filter((part) => /[\p{L}\p{N}]/u.test(part));
  return tidy.length > 0 ? tidy : [text];
}

/** `1. … 2. …` or `1) … 2) …`, counted from 1 without a gap. */
function numbered(text: string): string[] | null {
  const starts: { at: number; from: number }[] = [];
  for (const match of text.matchAll(/(?<=^|\s)(\d{1,2})[.)]\s+/g)) {
    if (Number(match[1]) !== starts.length + 1) continue;
    starts.push({ at: match.index, from: match.index + match[0].length });
  }
  if (starts.length < 2) return null;
  return starts.map(({ from }, i) => text.slice(from, starts[i + 1]?.at).trim());
}

function bullets(text: string): string[] | null {
  const lines = text.split("\n").filter((line) => /^\s*[-*•]\s+/.test(line));
  return lines.length < 2 ? null : lines.map((line) => line.replace(/^\s*[-*•]\s+/, ""));
}

/** Quoted text is never parted. */
function chained(text: string): string[] {
  const quotes: string[] = [];
  const masked = text.replace(
    /"[^"]*"|“[^”]*”|`[^`]*`|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu,
    (quote) => {
      quotes.push(quote);
      return `\uE000${quotes.length - 1}\uE000`;
    },
  );
  return masked
    .split(link)
    .map((part) => part.replace(/\uE000(\d+)\uE000/g, (_, i: string) => quotes[Number(i)] ?? ""));
}

function withoutLead(part: string): string {
  let tidy = part.trim();
  while (lead.test(tidy)) tidy = tidy.replace(lead, "");
  return tidy.replace(/[,;]+$/, "");
}
