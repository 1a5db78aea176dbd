/** Characters of a pattern. */
export const maxPatternLength = 200;

/**
 * A test of slash-separated paths: `*` and `?` stand for characters within a name, `**` for any number of folders. A
 * pattern without a slash is compared with the last name only. Takes time in proportion to pattern times path.
 */
export function fileGlob(pattern: string): (path: string) => boolean {
  if (!pattern.includes("/")) {
    return (path) => matchesName(pattern, path.slice(path.lastIndexOf("/") + 1));
  }
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  return (path) => matchesSequence(parts, path.split("/"), (part) => part === "**", matchesName);
}

function matchesName(pattern: string, name: string): boolean {
  return matchesSequence(
    Array.from(pattern),
    Array.from(name),
    (part) => part === "*",
    (part, character) => part === "?" || part === character,
  );
}

/** Matches parts with items, where a wild part takes any number of items; falls back to the last wild part only. */
function matchesSequence(
  parts: readonly string[],
  items: readonly string[],
  isWild: (part: string) => boolean,
  matches: (part: string, item: string) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let wildPart = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    const current = parts[part];
    if (current !== undefined && isWild(current)) {
      wildPart = part;
      takenUpTo = item;
      part += 1;
    } else if (current !== undefined && matches(current, items[item] ?? "")) {
      part += 1;
      item += 1;
    } else if (wildPart >= 0) {
      takenUpTo += 1;
      item = takenUpTo;
      part = wildPart + 1;
    } else return false;
  }
  return parts.slice(part).every(isWild);
}
