/** The change of this number that `write-changes.ts` makes; value null for a delete. */
export function nthChange(number: number): { readonly key: string; readonly value: string | null } {
  const key = `key ${(number * 7) % 13}`;
  return { key, value: number % 5 === 0 ? null : `${number} `.repeat(200) };
}

/** What memory holds after the first changes. */
export function afterChanges(count: number): Record<string, string> {
  const content = new Map<string, string>();
  for (let number = 1; number <= count; number += 1) {
    const { key, value } = nthChange(number);
    if (value === null) content.delete(key);
    else content.set(key, value);
  }
  return Object.fromEntries(content);
}
