/** The beginning of a text of rows and cells (CSV, TSV, pipes). */
export interface TableText {
  /** The first line, and the rule under it where there is one. */
  readonly header: readonly string[];
  /** The rows that were looked at. */
  readonly rows: readonly string[];
  readonly rowCount: number;
  /** Whether there are more rows than were counted. */
  readonly isMore: boolean;
}

/** Characters in which rows are looked at, and characters in which they are counted. */
const sampleCharacters = 20_000;
const countedCharacters = 1_000_000;

/** Lines that must be alike: prose seldom has so many lines with equally many commas. */
const fewestLines = 4;

/** Null for a text whose first lines do not all have as many cells. */
export function readTable(text: string): TableText | null {
  const sample = text.slice(0, sampleCharacters).trimStart();
  const lines = sample.split(/\r?\n/);
  // The last one is cut off.
  if (sample.length < text.trimEnd().length) lines.pop();
  const whole = lines.filter((line) => line.trim() !== "");
  if (whole.length < fewestLines || !["\t", "|", ",", ";"].some((sign) => isTable(whole, sign))) {
    return null;
  }
  const isRuled = /^[\s|:+=-]+$/.test(whole[1] ?? "");
  const header = whole.slice(0, isRuled ? 2 : 1);
  const { count, isMore } = lineCount(text);
  return { header, rows: whole.slice(header.length), rowCount: count - header.length, isMore };
}

function isTable(lines: readonly string[], sign: string): boolean {
  const first = cellCount(lines[0] ?? "", sign);
  return first > 1 && lines.slice(0, 50).every((line) => cellCount(line, sign) === first);
}

/** Cells in quotes may hold the sign. */
function cellCount(line: string, sign: string): number {
  const outside = line.includes('"') ? line.replace(/"[^"]*"/g, "") : line;
  return outside.split(sign).length;
}

/** Lines that are not empty. */
function lineCount(text: string): { count: number; isMore: boolean } {
  const counted = text.slice(0, countedCharacters);
  const count = counted.match(/\S[^\n]*/g)?.length ?? 0;
  return { count, isMore: counted.length < text.length };
}
