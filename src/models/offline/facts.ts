import { isStopWord } from "./words.ts";

/** Text in double, single, back or typographic quotes, in order; apostrophes inside words are none. */
export function quotedIn(text: string): string[] {
  const pattern = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/gu;
  return [...text.matchAll(pattern)].map((m) => m[1] ?? m[2] ?? m[3] ?? m[4] ?? "");
}

const webEndings = /\.(com|org|net|edu|gov|io)$/i;

/** File and folder paths: anything with a slash or a file ending. */
export function pathsIn(text: string): string[] {
  const words = text.replace(/https?:\/\/\S+/g, " ").match(/[^\s"'`“”,;()]+/g) ?? [];
  return words
    .map((word) => word.replace(/(:\d+){0,2}[.?!:]*$/, ""))
    .filter((word) => word.length > 1 && !word.includes("@") && isPath(word));
}

function isPath(word: string): boolean {
  if (/^[\d./%+*-]+$/.test(word)) return false;
  if (word.includes("/")) return /^[\w.~-]*(\/[\w.@*-]+)+\/?$|^[\w.~-]+\/$/.test(word);
  return /^[\w.-]*\w\.[a-z][a-z0-9]{0,5}$/i.test(word) && !webEndings.test(word);
}

/** A folder that is only named as such: "in docs", "the docs folder", "the current directory". */
export function folderIn(text: string): string | null {
  if (/\b(?:current|this|working) (?:folder|directory)\b|\bhere\b/i.test(text)) return ".";
  const named =
    /([\w./-]+) (?:folder|directory|dir)\b|(?:folder|directory|dir) (?:named |called )?([\w./-]+)/i;
  const found = named.exec(text);
  const direct = found?.[1] ?? found?.[2];
  if (direct !== undefined && !isStopWord(direct)) return direct.replace(/[.]$/, "");
  for (const [, word = ""] of text.matchAll(
    /\b(?:in|inside|under|within|of|from|at) (?:the )?([\w./-]+)/gi,
  )) {
    const folder = word.replace(/[.?!]+$/, "");
    if (folder !== "" && !isStopWord(folder) && !/^\d+$/.test(folder)) return folder;
  }
  return null;
}

export function urlsIn(text: string): string[] {
  return (text.match(/https?:\/\/[^\s"'<>)]+/g) ?? []).map((url) => url.replace(/[.,;!?]+$/, ""));
}

export function emailsIn(text: string): string[] {
  return text.match(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g) ?? [];
}

/** ISO dates, with a time where one is written. */
export function datesIn(text: string): string[] {
  return (
    text.match(
      /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?/g,
    ) ?? []
  );
}

/** Numbers that stand alone: no part of a path, a date, a time or a code. */
export function numbersIn(text: string): number[] {
  const found = text
    .replace(/(\d),(?=\d{3}\b)/g, "$1")
    .matchAll(/(?<![\w./:#-])-?\d+(?:\.\d+)?(?![\w/:]|[-.]\w)/g);
  return [...found].map(([one]) => Number(one));
}

/** Codes such as `ORD-123`, `A17`, `#42`. */
export function codesIn(text: string): string[] {
  const words = text.match(/#\d+|\b[A-Za-z]+[-_]?\d[\w-]*|\b\d{4,}\b/g) ?? [];
  return words.map((word) => word.replace(/^#/, ""));
}

/** Words written in capitals, as log levels and markers are; not those of a file's name. */
export function capitalsIn(text: string): string[] {
  const words = text.match(/(?<![\w./-])[A-Z][A-Z_]{2,}(?![\w/-]|\.\w)/g) ?? [];
  return words.filter((word) => !/^(JSON|HTTP|URL|UTC|GMT|AND|THE)$/.test(word));
}

const marker = /^(ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE|TODO|FIXME)$/;

/** Proper nouns: runs of capitalised words that do not begin a sentence. */
export function namesIn(text: string): string[] {
  const runs = text.matchAll(/(?<=[\p{L}\p{N},'")] )\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*/gu);
  return [...runs].map(([name]) => name).filter((name) => !marker.test(name));
}
