import { contentWords } from "../../models/embeddings/content-words.ts";

/** Words with meaning that a part needs to stand for itself; "Thank you." goes with its neighbour. */
const fewestWords = 4;

/** Parts that are looked at: a task may be a whole document. */
const mostParts = 32;

/**
 * The sentences of a task, short ones joined to what follows, and the last to what comes before; at least one. Of a very
 * long task the first and the last ones.
 */
export function taskParts(task: string): string[] {
  const parts: string[] = [];
  let open = "";
  let words = 0;
  for (const sentence of task.split(/(?<=[.!?;])\s+|\n+/)) {
    open = open === "" ? sentence.trim() : `${open} ${sentence.trim()}`;
    words += contentWords(sentence).length;
    if (words < fewestWords) continue;
    parts.push(open);
    open = "";
    words = 0;
  }
  const last = parts.at(-1);
  if (last === undefined) return [open];
  if (open !== "") parts[parts.length - 1] = `${last} ${open}`;
  if (parts.length <= mostParts) return parts;
  return [...parts.slice(0, mostParts / 2), ...parts.slice(-mostParts / 2)];
}
