import { cutToWidth } from "./text-width.ts";

/** What tells runs of one experiment apart: their ids without the parts that all of them begin and end with. */
export function runNames(ids: readonly string[]): readonly string[] {
  const parts = ids.map((id) => id.split("."));
  if (parts.length < 2) return ids;
  const least = Math.min(...parts.map(({ length }) => length));
  const start = sameParts(parts, least - 1);
  const reversed = parts.map((one) => one.toReversed());
  const end = sameParts(reversed, least - 1 - start);
  return parts.map((one) => one.slice(start, one.length - end).join("."));
}

/** How many parts, up to `most`, all begin with. */
function sameParts(ids: readonly (readonly string[])[], most: number): number {
  let same = 0;
  while (same < most && ids.every((parts) => parts[same] === ids[0]?.[same])) same += 1;
  return same;
}

/** An id that is too wide loses its middle, since runs often differ at the end. */
export function shortRunName(name: string, width: number): string {
  if (name.length <= width || width < 5) return cutToWidth(name, width);
  const end = Math.floor((width - 1) / 2);
  return `${name.slice(0, width - 1 - end)}…${name.slice(-end)}`;
}
