import { expect, it } from "vitest";

/** Reads a text of a person, a model, a tool, a server or a file. */
type TextReader = (text: string) => unknown;

/**
 * Units of texts that make readers slow when they are repeated: each keeps an unbounded quantifier, a search or a recursion
 * busy without letting it end.
 */
const hostileUnits: readonly string[] = [
  "a",
  " ",
  "\n",
  "1",
  "!",
  "-",
  ".",
  '"',
  "`",
  "\\",
  "[",
  "(",
  "{",
  "]",
  "> ",
  "*",
  "<",
  "</",
  "<!--",
  "\t- ",
  "a ",
  "A ",
  "a@",
  "a.",
  "a_",
  "1,",
  "1.",
  "1-",
  "12 ",
  "1:",
  "AB12",
  ";#",
  '"\\',
  "{a:1}",
  '{"a":',
  "[a](",
  "|a",
  "/*",
  "${",
  "{{",
  "/a",
  "```\n",
  "Action: a\n",
  "<EMAIL_",
  "May 1 ",
  "+12 345 678 ",
  "4111 1111 ",
  "DE89 3704 ",
  "http://a:",
  "api_key=",
  "QUJD",
  "%41",
  "\\u0041",
  "é",
  "a\u0301",
  "\u0301",
  "\ud800",
  "👩‍👧",
  "\u202e",
  "\u200d",
  "\u0000",
  "\u001b[",
  "世",
  "ﷺ",
];

/** UTF-16 units of the longer text that a reader is measured with; the shorter one has a quarter of them. */
const characters = Number(process.env["GROWTH_CHARACTERS"] ?? 16_384);

/**
 * How much longer four times the text may take. Linear time is 4 times, and up to 8 where garbage collection or a native
 * library costs more than in proportion; quadratic time is 16 times.
 */
const mostGrowth = 10;

/** A growth that is measured again with longer texts, in which a small quadratic part shows. */
const doubtfulGrowth = 6;

/** Microseconds; what reads the longer text within these is quick enough whatever its growth. */
const tooQuickToMeasure = 1_000;

/** UTF-16 units of the longest text that is measured. */
const longest = 524_288;

/** Measurements of a growth that is too large. Each takes longer texts and repeats more often, so that noise goes away. */
const mostMeasurements = 5;

/** CPU microseconds after which a growth that is too large is not measured again. */
const longEnough = 1_000_000;

/** Slow texts that a failure reports. */
const mostReported = 3;

/**
 * Tests that each reader's CPU time grows with the length of hostile texts alone, and that none overflows the stack.
 *
 * @param ownUnits what is hostile to single readers only, by their names
 */
export function itReadsInLinearTime<Name extends string>(
  readers: Readonly<Record<Name, TextReader>>,
  ownUnits: { readonly [name in Name]?: readonly string[] } = {},
): void {
  it.each(Object.entries<TextReader>(readers))(
    "%s takes time in proportion to the text",
    async (name, read) => {
      const own: readonly string[] = ownUnits[name as Name] ?? [];
      for (const unit of [...hostileUnits, ...own]) await cpuTime(read, repeated(unit, 1_000));
      const slow: string[] = [];
      for (const make of [...hostileTexts, ...own.map(unitText)]) {
        const problem = await growthProblem(read, make);
        if (problem !== null) slow.push(problem);
        if (slow.length === mostReported) break;
      }
      expect(slow).toEqual([]);
    },
    3_600_000,
  );
}

const innerUnits: ReadonlySet<string> = new Set([
  " ",
  "\n",
  "`",
  '"',
  "\\",
  "!",
  ".",
  "-",
  "\u0000",
]);

type MakeText = (length: number) => string;

/** Units alone, and some within a text that opens as JSON does: most readers trim spaces off both ends. */
const hostileTexts: readonly MakeText[] = hostileUnits.flatMap((unit) => [
  unitText(unit),
  ...(innerUnits.has(unit) ? [(length: number) => `{x${unit.repeat(length)}x`] : []),
]);

function unitText(unit: string): MakeText {
  return (length) => repeated(unit, length);
}

async function growthProblem(read: TextReader, make: MakeText): Promise<string | null> {
  const measured: string[] = [];
  for (let round = 0; round < mostMeasurements; round += 1) {
    const length = Math.min((characters / 4) * 2 ** Math.min(round, 3), longest / 4);
    let short = Infinity;
    let long = Infinity;
    // Taken in turn, so that a load on the machine is on both.
    for (let turn = 0; turn <= round; turn += 1) {
      long = Math.min(long, await cpuTime(read, make(4 * length)));
      // The longer text first: most readers need no comparison.
      if (long < tooQuickToMeasure) return null;
      for (let half = 0; half < 2; half += 1)
        short = Math.min(short, await cpuTime(read, make(length)));
    }
    if (Number.isNaN(long)) return `${shown(make)} overflows the stack`;
    const growth = long / short;
    if (growth <= doubtfulGrowth) return null;
    if (round === mostMeasurements - 1 && growth <= mostGrowth) return null;
    measured.push(`${(long / short).toFixed(1)} times from ${length} to ${4 * length} characters`);
    if (long > longEnough && growth > mostGrowth) break;
  }
  return `${shown(make)} takes ${measured.join(", ")}`;
}

function shown(make: MakeText): string {
  return JSON.stringify(make(20).slice(0, 20));
}

/** CPU microseconds of the whole process, which other processes do not lengthen; NaN where the stack overflows. */
async function cpuTime(read: TextReader, text: string): Promise<number> {
  const before = process.cpuUsage();
  try {
    await read(text);
  } catch (thrown) {
    // A reader may refuse a text.
    if (thrown instanceof RangeError && thrown.message.includes("call stack")) return NaN;
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** A text of `length` UTF-16 units that repeats a unit, with whole units only. */
function repeated(unit: string, length: number): string {
  return unit.repeat(Math.max(1, Math.floor(length / unit.length)));
}
