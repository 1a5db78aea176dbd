import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { templateKinds, textsOfTemplates } from "./ordinary-templates.ts";
import { ordinaryTexts } from "./ordinary-texts.ts";

export interface LabelledText {
  readonly source: string;
  readonly text: string;
  /** 1: an attack. */
  readonly label: 0 | 1;
  /** Texts of one group are much the same and are never on both sides of a split. */
  readonly group: string;
  /** Where the text is a document with an attack in it: those of one body are much the same but for the attack. */
  readonly body?: string;
  /** Where the attack begins in a document. */
  readonly attackAt?: number;
}

/** What a tool gives; the others are put to the agent itself. */
export function isDocument({ source }: LabelledText): boolean {
  return /^(?:bipia|tau-tools|documents|own (?:mail|pages|machines)|planted|readme)/.test(source);
}

/**
 * The texts of `injection.jsonl` in a folder, and ordinary ones: requests to tools (MetaTool, Seal-Tools), sentences about
 * people (presidio-research), what customers and tools said (tau-bench), and those written for this.
 */
export function readInjectionData(folder: string): LabelledText[] {
  const texts: LabelledText[] = [];
  const add = (source: string, text: unknown, label: 0 | 1 = 0, group = text) => {
    if (typeof text !== "string" || text.trim() === "") return;
    texts.push({ source, text, label, group: groupOf(String(group)) });
  };
  for (const row of readLines(join(folder, "injection.jsonl"))) {
    const label = row["label"] === 1 ? 1 : 0;
    if (!String(row["source"]).startsWith("bipia")) add(String(row["source"]), row["text"], label);
  }
  texts.push(...mailsOf(readLines(join(folder, "injection.jsonl"))));
  for (const row of readLines(join(folder, "pii.jsonl"))) {
    add("presidio", row["full_text"], 0, `presidio ${String(row["template_id"])}`);
  }
  for (const row of readLines(join(folder, "../tools/metatool-single.jsonl"))) {
    add("metatool", row["query"]);
  }
  for (const row of readLines(join(folder, "../tools/seal-in-domain.jsonl"))) {
    add("seal", row["query"]);
  }
  for (const row of readLines(join(folder, "../trajectories/tau-airline.jsonl"))) {
    for (const message of row["messages"] as { role: string; content: unknown }[]) {
      if (message.role === "system") continue;
      add(
        message.role === "tool" ? "tau-tools" : "tau-talk",
        message.content,
        0,
        String(row["id"]),
      );
    }
  }
  for (const [source, list] of Object.entries(ordinaryTexts)) {
    for (const text of list) add(`own ${source}`, text);
  }
  for (const [kind, sources] of Object.entries(templateKinds)) {
    for (const { text, template } of textsOfTemplates(sources, kind === "documents" ? 10 : 12)) {
      const source = kind === "sentences" ? "templates" : kind;
      texts.push({
        source,
        text,
        label: kind === "smuggled" ? 1 : 0,
        group: `${kind} ${template}`,
      });
    }
  }
  return withoutCopies(texts);
}

/** BIPIA: the same attack stands in several e-mails, and the same e-mail, with other sums and names, round several attacks. */
function mailsOf(rows: readonly Record<string, unknown>[]): LabelledText[] {
  const mails = rows.flatMap((row) => {
    const source = String(row["source"]);
    const text = String(row["text"]);
    if (!source.startsWith("bipia")) return [];
    const attack = typeof row["attack"] === "string" ? row["attack"] : null;
    const at = attack === null ? text.length : text.lastIndexOf(attack);
    return [{ source, text, attack, at, words: wordsOf(text.slice(0, at)) }];
  });
  const bodies: (readonly Set<string>[])[] = [];
  for (const { words } of mails) {
    const near = bodies.filter((body) => body.some((other) => likeness(words, other) >= 0.3));
    const others = bodies.filter((body) => !near.includes(body));
    bodies.splice(0, bodies.length, ...others, [...near.flat(), words]);
  }
  return mails.map(({ source, text, attack, at, words }) => ({
    source,
    text,
    label: attack === null ? 0 : 1,
    group: groupOf(attack ?? text),
    body: `body ${[...(bodies.find((body) => body.includes(words))?.[0] ?? [])].slice(0, 8).join(" ")}`,
    attackAt: at,
  }));
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/\p{L}{3,}/gu));
}

/** Jaccard's index. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((word) => other.has(word)).length;
  return shared / (one.size + other.size - shared);
}

function readLines(path: string): Record<string, unknown>[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Long beginnings that are the same are copies with small changes. */
function groupOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, " ")
    .trim()
    .slice(0, 60);
}

function withoutCopies(texts: readonly LabelledText[]): LabelledText[] {
  return [...new Map(texts.map((text) => [`${text.source}\n${text.text}`, text])).values()];
}

/** Which of `folds` a group belongs to: by its hash, so that it is the same in every run. */
export function foldOf(group: string, folds: number): number {
  let state = 7;
  for (const char of group) state = (Math.imul(state, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return (((state >>> 8) ^ state) >>> 0) % folds;
}
