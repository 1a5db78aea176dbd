/** A number in a text, with every value that its writing can mean: `1.234` is 1234 in German. */
export interface FoundNumber {
  readonly start: number;
  readonly end: number;
  readonly values: readonly number[];
  /** Digits after the point in the first of its values. */
  readonly decimals: number;
  readonly percent: boolean;
}

const scales: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tsd: 1e3,
  tausend: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  millions: 1e6,
  millionen: 1e6,
  bn: 1e9,
  billion: 1e9,
  billions: 1e9,
  mrd: 1e9,
};

const written =
  /(?<![\p{L}\p{N}_])(?:\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?:\s?(%|percent|per cent|prozent))?(?:\s?(k|m|bn|thousand|tausend|tsd|millions?|millionen|mio|billions?|mrd)(?![\p{L}\p{N}]))?(?![\p{N}])/giu;

/** Numbers that stand alone, in English, German and Swiss writing. Those inside identifiers are none. Linear in the text. */
export function findNumbers(text: string): FoundNumber[] {
  return Array.from(text.matchAll(written), (match) => {
    const [whole, percent, scale] = match;
    const digits = /^[\d.,'’\u00a0\u202f ]*\d/.exec(whole)?.[0] ?? whole;
    const factor = scales[(scale ?? "").toLowerCase()] ?? 1;
    const values = readings(digits).map((value) => value * factor);
    return {
      start: match.index,
      end: match.index + whole.length,
      values,
      decimals: factor === 1 ? decimalsOf(values[0] ?? 0) : 0,
      percent: percent !== undefined,
    };
  });
}

function readings(digits: string): number[] {
  const tight = digits.replace(/['’\u00a0\u202f ]/g, "");
  const english = Number(tight.replaceAll(",", ""));
  const german = Number(tight.replaceAll(".", "").replace(",", "."));
  return [...new Set([english, german].filter(Number.isFinite))];
}

export function decimalsOf(value: number): number {
  return /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0;
}

/** To `decimals` digits after the point, as people round. */
export function rounded(value: number, decimals: number): number {
  const factor = 10 ** Math.min(decimals, 10);
  return Math.round((value + Math.sign(value) * 1e-9) * factor) / factor;
}
