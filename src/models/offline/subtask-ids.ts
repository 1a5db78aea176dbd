import { pathsIn } from "./facts.ts";
import { isStopWord, wordsOf } from "./words.ts";

const longestId = 24;
const mostWords = 5;
/** Words of a result or a failure say nothing of what a subtask is about. */
const vague =
  /^(results?|answers?|subtasks?|steps?|parts?|missing|lacks?|failed|nothing|came|out|many|much)$/;

/**
 * Ids that say what subtasks are about, from their first words: two of them, and more where others have the same. None
 * is in `taken`, no two are the same. They begin with a letter: numbers as keys of an object would lose their order.
 */
export function subtaskIds(
  descriptions: readonly string[],
  taken: readonly string[] = [],
): readonly string[] {
  const words = descriptions.map(tellingWords);
  const used = new Set(taken);
  return words.map((own, i) => {
    const plain = own.filter((word) => !isNumber(word)).length;
    const few = Math.min(2, plain === 0 ? own.length : plain);
    for (let count = few; count <= mostWords && own.length > 0; count += 1) {
      const id = idOf(own, count);
      const isShared = words.some((others, j) => j !== i && idOf(others, count) === id);
      if (!isShared && !used.has(id)) return add(used, id);
    }
    return add(used, numbered(idOf(own, 2), used));
  });
}

function add(used: Set<string>, id: string): string {
  used.add(id);
  return id;
}

function numbered(id: string, used: ReadonlySet<string>): string {
  const base = id.slice(0, longestId - 5).replace(/-+$/, "");
  for (let number = id === "step" ? 1 : 2; ; number += 1) {
    const next = `${base}-${number}`;
    if (!used.has(next)) return next;
  }
}

function idOf(words: readonly string[], count: number): string {
  let id = isNumber(words[0] ?? "") ? "number" : "";
  for (const word of words.slice(0, count)) {
    const longer = id === "" ? word.slice(0, longestId) : `${id}-${word}`;
    if (longer.length > longestId) break;
    id = longer;
  }
  return id === "" ? "step" : id;
}

/** Plain letters and digits; of a path the name of the file. Numbers come last. */
function tellingWords(description: string): readonly string[] {
  const files = pathsIn(description);
  const names = new Set(files.flatMap((path) => plainWords(fileName(path))));
  let text = description;
  for (const path of files) text = text.replace(path, fileName(path));
  const words = [...new Set(plainWords(text))];
  const said = words.filter((word) => names.has(word) || !isStopWord(word));
  const telling = said.filter((word) => !vague.test(word));
  const kept = telling.length > 0 ? telling : said;
  return [...kept.filter((word) => !isNumber(word)), ...kept.filter(isNumber)];
}

function plainWords(text: string): readonly string[] {
  const words = wordsOf(text.normalize("NFKD").replace(/\p{M}/gu, ""));
  return words.filter((word) => /^[a-z0-9]+$/.test(word));
}

function isNumber(word: string): boolean {
  return /^\d/.test(word);
}

function fileName(path: string): string {
  return (path.split("/").findLast((part) => part !== "") ?? path).replace(/(?<=.)\.\w{1,6}$/, "");
}
