const word = /[\p{L}\p{N}_#@][\p{L}\p{N}_\-#@.:/]{2,119}/gu;

/** What a next tool call may need from a result, in order, without duplicates, at most `limit`. */
export function salientValues(value: unknown, limit: number): readonly string[] {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return [...salientWords(text)].slice(0, limit);
}

/** The identifiers, dates, addresses and codes of a text, in order. */
export function salientWords(text: string): ReadonlySet<string> {
  const found = text.slice(0, 200_000).match(word) ?? [];
  return new Set(found.filter((one) => /\d/.test(one) && /[\p{L}_\-#]/u.test(one)));
}
