import { z } from "zod";
import { headOf } from "../../values/text.ts";
import { createBm25 } from "../selection/bm25.ts";
import { ToolFailure } from "../tool-result.ts";
import { builtinTool } from "./builtin-tool.ts";

/** UTF-16 units of all documents of a call. */
const maxText = 4 * 1024 * 1024;

/** UTF-16 units that a passage has at most; it ends with a sentence or a line where one ends in its second half. */
const passageLength = 800;

const input = z.strictObject({
  query: z.string().min(1).max(2_000).describe("What to look for, in words"),
  documents: z
    .array(
      z.strictObject({
        id: z.string().max(200).optional().describe("Default: its place in the list, from 1"),
        title: z.string().max(1_000).optional(),
        text: z.string(),
      }),
    )
    .min(1)
    .max(2_000),
  top_k: z.int().min(1).max(50).optional().describe("Most passages to give. Default: 5"),
});

interface Passage {
  readonly id: string;
  readonly title?: string;
  /** 0-based, in UTF-16 units of the document's text. */
  readonly start: number;
  readonly text: string;
}

/** Ranks passages of texts that the call brings along by the words they share with a query (BM25). */
export const searchDocumentsTool = builtinTool({
  name: "search_documents",
  display_name: "Search documents",
  description:
    "Finds the passages of given documents that say most about a query, the best first, with scores. It compares words, not meanings. For files of the root folder use search_text.",
  input_schema: input,
  handler: ({ query, documents, top_k = 5 }) => {
    const length = documents.reduce((sum, { text }) => sum + text.length, 0);
    if (length > maxText) {
      throw new ToolFailure(
        `The documents have ${length.toLocaleString("en")} characters; up to ${maxText.toLocaleString("en")} are searched.`,
      );
    }
    const wanted = new Set(termsOf(query));
    if (wanted.size === 0) throw new ToolFailure("The query has no words.");
    const passages = documents.flatMap((document, index) =>
      passagesOf({ ...document, id: document.id ?? String(index + 1) }),
    );
    const ranking = createBm25(
      passages.map(({ title = "", text }) => termsOf(`${title}\n${text}`)),
    ).scores(wanted);
    const found = passages
      .map((passage, at) => ({ ...passage, score: ranking[at] ?? 0 }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score);
    return {
      passages: found.slice(0, top_k).map((passage) => ({
        ...passage,
        score: Math.round(passage.score * 1_000) / 1_000,
      })),
      total: found.length,
    };
  },
});

interface Document {
  readonly id: string;
  readonly title?: string | undefined;
  readonly text: string;
}

function passagesOf({ id, title, text }: Document): readonly Passage[] {
  const passages: Passage[] = [];
  for (let start = 0; start < text.length;) {
    const part = passageAt(text, start);
    if (part.trim() !== "") {
      passages.push({ id, ...(title !== undefined && { title }), start, text: part.trimEnd() });
    }
    start += part.length;
  }
  return passages.length > 0 || title === undefined
    ? passages
    : [{ id, title, start: 0, text: "" }];
}

function passageAt(text: string, start: number): string {
  const most = headOf(text.slice(start, start + passageLength + 1), passageLength);
  if (start + most.length >= text.length) return most;
  const least = passageLength / 2;
  for (const end of [/\n\s*\n/g, /\n/g, /[.!?。！？]\s*/g, /\s/g]) {
    const last = [...most.matchAll(end)].map((match) => match.index + match[0].length).at(-1);
    if (last !== undefined && last > least) return most.slice(0, last);
  }
  return most;
}

const words = new Intl.Segmenter(undefined, { granularity: "word" });

/** Words in lower case without accents; also those of scripts that put no spaces between them. */
function termsOf(text: string): readonly string[] {
  const plain = text
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "");
  const terms: string[] = [];
  for (const word of plain.match(/[\p{L}\p{N}]+/gu) ?? []) {
    if (
      !/[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u.test(word)
    ) {
      terms.push(stemOf(word));
      continue;
    }
    for (const { segment } of words.segment(word)) terms.push(segment);
  }
  return terms;
}

/** English plurals alone: a word and its plural are mostly the same to who asks. */
function stemOf(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !/(?:ss|us|is)$/.test(word))
    return word.slice(0, -1);
  return word;
}
