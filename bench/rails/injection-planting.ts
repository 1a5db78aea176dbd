import { randomNumbers } from "../helpers/random-numbers.ts";
import { isDocument, type LabelledText } from "./injection-data.ts";

/** Longer ones are hidden in no document. */
const longestAttack = 300;

/**
 * Puts texts into documents, each as a line of its own: three of five at the end, the others at the beginning or between
 * two lines. The same in every run.
 */
export function planted(
  texts: readonly LabelledText[],
  documents: readonly LabelledText[],
  seed: number,
): LabelledText[] {
  const random = randomNumbers(seed);
  const hosts = documents.filter((text) => isDocument(text) && text.label === 0);
  if (hosts.length === 0) return [];
  return texts.flatMap(({ text, source, group }) => {
    const host = hosts[Math.floor(random() * hosts.length)] as LabelledText;
    const lines = host.text.slice(0, 4000).split("\n");
    const place = random();
    const middle = Math.floor(random() * lines.length);
    const at = place < 0.6 ? lines.length : place < 0.75 ? 0 : middle;
    if (text.length > longestAttack) return [];
    const before = lines
      .slice(0, at)
      .map((line) => `${line}\n`)
      .join("");
    const after = lines
      .slice(at)
      .map((line) => `\n${line}`)
      .join("");
    return [
      {
        source: `planted ${source}`,
        text: before + text + after,
        label: 1 as const,
        group,
        attackAt: before.length,
      },
    ];
  });
}

/** Where an attack that was planted ends. */
export function isPlantedAt(
  place: { readonly start: number; readonly end: number },
  { attackAt = 0, text }: LabelledText,
): boolean {
  const end = text.indexOf("\n", attackAt);
  return place.start >= attackAt && place.end <= (end < 0 ? text.length : end);
}
