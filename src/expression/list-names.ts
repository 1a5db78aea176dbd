/** Names that a message lists. */
const maxShown = 12;

/** `a, b and 3 more`. */
export function listNames(names: readonly string[]): string {
  const more = names.length - maxShown;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, maxShown).join(", ")} and ${more} more`;
}
