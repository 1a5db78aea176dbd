import type { NewElement } from "./elements/log.ts";
import { pgArray, pgTextArray } from "./pg-array.ts";

/** New elements as the statement takes them: a column each, and all bytes in one piece. */
export function elementColumns(elements: readonly NewElement[]): unknown[] {
  let start = 1; // Postgres counts bytes from one.
  const starts = elements.map(({ blob }) => {
    start += blob.byteLength;
    return start - blob.byteLength;
  });
  return [
    pgArray(elements.map(({ log }) => log)),
    pgArray(elements.map(({ idx }) => idx)),
    pgArray(starts),
    pgArray(elements.map(({ blob }) => blob.byteLength)),
    pgTextArray(elements.map(({ type }) => type)),
    Buffer.concat(elements.map(({ blob }) => blob)),
  ];
}
