/** Characters that act on a terminal, or cannot be seen there, but for the line feeds between values. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** A value as indented JSON, safe to print: it has no character that acts on a terminal. */
export function jsonText(value: unknown): string {
  return printableJson(JSON.stringify(value, null, 2));
}

/** JSON with every character as an escape that acts on a terminal or cannot be seen there. The same value. */
export function printableJson(json: string): string {
  return json.replaceAll(unprintable, escaped);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
