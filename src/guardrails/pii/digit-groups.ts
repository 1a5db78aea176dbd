/** A run of digits in a candidate, in UTF-16 units from the beginning of the text. */
export interface DigitGroup {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
}

/** The runs of digits in `text`, which begins at `offset` of the whole text. */
export function digitGroups(text: string, offset: number): readonly DigitGroup[] {
  return [...text.matchAll(/\d+/g)].map((match) => ({
    start: offset + match.index,
    end: offset + match.index + match[0].length,
    digits: match[0],
  }));
}

/**
 * Runs of neighbouring groups, longest first of each beginning: a number may stand between others. A run begins and ends
 * where there is a gap, since what is held together by a dot or a dash is one thing. At most `most` groups a run.
 */
export function* neighbours(
  groups: readonly DigitGroup[],
  most: number,
  text: string,
): Generator<{ readonly from: number; readonly to: number }> {
  const isCut = (at: number) => {
    const [left, right] = [groups[at - 1], groups[at]];
    return (
      left === undefined || right === undefined || /\s/.test(text.slice(left.end, right.start))
    );
  };
  const cuts = groups.map((_, at) => isCut(at));
  for (let from = 0; from < groups.length; from += 1) {
    if (cuts[from] !== true) continue;
    for (let to = Math.min(groups.length, from + most); to > from; to -= 1) {
      if (to === groups.length || cuts[to] === true) yield { from, to };
    }
  }
}

export function joinDigits(groups: readonly DigitGroup[]): string {
  return groups.map(({ digits }) => digits).join("");
}
