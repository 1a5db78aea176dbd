/** Numbers as Postgres reads an array of them. */
export function pgArray(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}

/** Texts, and null. */
export function pgTextArray(texts: readonly (string | null)[]): string {
  const quoted = texts.map((text) =>
    text === null ? "NULL" : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  );
  return `{${quoted.join(",")}}`;
}
