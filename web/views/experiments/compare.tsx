import { formatDuration } from "../../components/format.ts";
import { formatCounted, formatDollars, formatFigure, mean, missing } from "./figures.ts";
import { type Grouping, groupingTitles, metrics, type Report, type Run } from "./report-data.ts";
import { ScrollingTable, Section } from "./section.tsx";
import { useSelection } from "./selection.ts";
import { type Difference, differenceOf, type Spread, spreadOf } from "./statistics.ts";

/** Runs that have something in common. */
interface Side {
  /** In the address: what they have in common, and its value. */
  readonly id: string;
  readonly by: Grouping;
  readonly name: string;
  readonly runs: readonly Run[];
}

interface Figure {
  readonly title: string;
  /** Null where a log does not say. */
  readonly value: (run: Run) => number | null;
  readonly format: (value: number) => string;
}

const threeDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Three digits, so that small figures and their spread can be told apart; whole numbers from a hundred on. */
function formatPrecise(value: number): string {
  return Math.abs(value) >= 100 ? formatFigure(value) : threeDigits.format(value);
}

const known = (values: readonly (number | null)[]): number | null =>
  values.some((value) => value === null) ? null : mean(values as readonly number[]);

const figures: readonly Figure[] = [
  ...metrics.map(({ name, title, unit }) => ({
    title: `${title}, ${unit}`,
    value: (run: Run) => run.means[name],
    format: formatPrecise,
  })),
  {
    title: "Model calls a cycle",
    value: (run) => mean(run.llm_invocations),
    format: formatPrecise,
  },
  { title: "Tool calls a cycle", value: (run) => mean(run.tool_calls), format: formatPrecise },
  { title: "Failed calls a cycle", value: (run) => mean(run.tool_errors), format: formatPrecise },
  {
    title: "Keys in memory at the end",
    value: (run) => run.memory_keys.at(-1) ?? null,
    format: formatPrecise,
  },
  {
    title: "Characters in memory at the end",
    value: (run) => run.memory_chars.at(-1) ?? null,
    format: formatPrecise,
  },
  {
    title: "Tokens a cycle",
    value: (run) => (run.tokens === null ? null : run.tokens / run.cycles),
    format: formatPrecise,
  },
  {
    title: "Cost a cycle",
    value: (run) => known(run.cost_usd),
    format: (value) => (value === 0 ? "$0" : formatDollars(value)),
  },
  {
    title: "Time of a cycle",
    value: (run) => mean(run.duration_ms),
    format: (value) => `${value < 0 ? "−" : ""}${formatDuration(Math.abs(value))}`,
  },
];

/** Two runs, or two groups of runs, with the differences of their figures and of their configurations. */
export function Compare({ report }: { report: Report }) {
  const { query, set } = useSelection();
  const sides = sidesOf(report);
  if (sides.length < 2) return null;
  const usual = usualSides(report, sides);
  const left = sides.find(({ id }) => id === query["left"]) ?? usual[0];
  const right = sides.find(({ id }) => id === query["right"]) ?? usual[1];
  if (left === undefined || right === undefined) return null;
  const both = left.runs.filter((run) => right.runs.includes(run)).length;
  return (
    <Section id="compare" title="Compare" note="Two runs or two groups of runs, side by side.">
      <div class="sides">
        <SideSelect label="Left" sides={sides} chosen={left} choose={(id) => set({ left: id })} />
        <button
          type="button"
          class="button"
          onClick={() => set({ left: right.id, right: left.id })}
        >
          Swap
        </button>
        <SideSelect
          label="Right"
          sides={sides}
          chosen={right}
          choose={(id) => set({ right: id })}
        />
      </div>
      {both > 0 && (
        <p class="notice wait" role="note">
          {formatCounted(both, "run")} {both === 1 ? "is" : "are"} on both sides, so the sides are
          not independent.
        </p>
      )}
      <FigureTable left={left} right={right} />
      <ConfigTable left={left} right={right} />
    </Section>
  );
}

function sidesOf(report: Report): readonly Side[] {
  const by: readonly Grouping[] = ["experiment", "condition", "model", "prompt", "seed", "run"];
  return report.tellingApart(...by).flatMap((one) =>
    report.groupsBy(one).map((name) => ({
      id: `${one}:${name}`,
      by: one,
      name,
      runs: report.runs.filter(({ groups }) => groups[one] === name),
    })),
  );
}

/** The first two groups of the first way in which the runs differ. */
function usualSides(report: Report, sides: readonly Side[]): readonly Side[] {
  const [first] = report.tellingApart("experiment", "condition", "model", "prompt", "seed", "run");
  return sides.filter(({ by }) => by === first).slice(0, 2);
}

function SideSelect({
  label,
  sides,
  chosen,
  choose,
}: {
  label: string;
  sides: readonly Side[];
  chosen: Side;
  choose: (id: string) => void;
}) {
  const groupings = [...new Set(sides.map(({ by }) => by))];
  return (
    <label class="side">
      <span class="faint">{label}</span>
      <select
        class="input"
        aria-label={label}
        value={chosen.id}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {groupings.map((by) => (
          <optgroup key={by} label={groupingTitles[by]}>
            {sides
              .filter((side) => side.by === by)
              .map(({ id, name, runs }) => (
                <option key={id} value={id} selected={id === chosen.id}>
                  {by === "run" ? name : `${name} (${formatCounted(runs.length, "run")})`}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

function FigureTable({ left, right }: { left: Side; right: Side }) {
  const rows = figures.map((figure) => {
    const of = ({ runs }: Side) =>
      spreadOf(runs.map((run) => figure.value(run)).filter((value) => value !== null));
    const [a, b] = [of(left), of(right)];
    return { figure, a, b, difference: a === null || b === null ? null : differenceOf(a, b) };
  });
  const isAlone = rows.some(({ difference }) => difference?.interval === null);
  return (
    <>
      <ScrollingTable label="Differences of figures">
        <table class="compared">
          <thead>
            <tr>
              <th scope="col">Mean of the runs</th>
              <th scope="col" class="number">
                {left.name}
              </th>
              <th scope="col" class="number">
                {right.name}
              </th>
              <th scope="col" class="number">
                Difference
              </th>
              <th scope="col">How sure</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ figure, a, b, difference }) => (
              <tr key={figure.title}>
                <th scope="row">{figure.title}</th>
                <SpreadCell spread={a} format={figure.format} />
                <SpreadCell spread={b} format={figure.format} />
                <td class="number">
                  {difference === null ? missing : differenceText(difference, figure.format)}
                </td>
                <td class="verdict">{verdictOf(difference, figure.format)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
      <p class="note">
        Each run counts once. ± is the standard deviation between the runs of a side, and the
        interval holds the difference of the means with 95 % confidence (Welch’s t-test). It
        supposes independent runs. Of {figures.length} figures, one may seem to differ by chance.
        {isAlone &&
          " One run has no spread: cycles of a run depend on each other, so its difference to another run may be chance. Run more seeds."}
      </p>
    </>
  );
}

function SpreadCell({ spread, format }: { spread: Spread | null; format: Figure["format"] }) {
  if (spread === null) return <td class="number faint">unknown</td>;
  const { count, deviation, least, most } = spread;
  return (
    <td class="number">
      {format(spread.mean)}
      {deviation !== null && ` ± ${format(deviation)}`}
      <span class="about">
        {deviation === null
          ? "1 run"
          : `${format(least)} to ${format(most)}, ${formatCounted(count, "run")}`}
      </span>
    </td>
  );
}

function signed(value: number, format: Figure["format"]): string {
  const size = format(Math.abs(value));
  if (value === 0) return size === missing ? "0" : size;
  return `${value > 0 ? "+" : "−"}${size}`;
}

function differenceText({ value, share }: Difference, format: Figure["format"]): string {
  const told = signed(value, format);
  if (share === null || value === 0) return told;
  return `${told} (${signed(100 * share, formatPrecise)} %)`;
}

/** Says whether the spread of the runs allows to tell two sides apart. */
function verdictOf(difference: Difference | null, format: Figure["format"]): string {
  if (difference === null) return "not known on a side";
  const { interval, value } = difference;
  if (interval === null) return "one run on a side: spread unknown";
  const [low, high] = interval;
  if (low === high) return value === 0 ? "equal in all runs" : "differs, without any spread";
  const range = `${signed(low, format)} to ${signed(high, format)}`;
  return low > 0 || high < 0 ? `differs: ${range}` : `not told apart: ${range}`;
}

/** Values that a cell names. */
const mostNamed = 4;

function ConfigTable({ left, right }: { left: Side; right: Side }) {
  const options = new Set(
    [...left.runs, ...right.runs].flatMap(({ model_options: of }) => Object.keys(of)),
  );
  options.delete("seed");
  const rows: readonly { readonly title: string; readonly value: (run: Run) => string }[] = [
    { title: "Model", value: (run) => run.model_name },
    { title: "Prompt", value: (run) => run.prompt_name ?? missing },
    { title: "Seed", value: (run) => String(run.seed ?? missing) },
    { title: "Cycles", value: (run) => formatFigure(run.cycles_done) },
    ...[...options].toSorted().map((name) => ({
      title: name,
      value: (run: Run) => String(run.model_options[name] ?? missing),
    })),
    { title: "Config hash", value: (run) => run.config_hash.slice(0, 12) },
  ];
  return (
    <ScrollingTable label="Differences of configuration">
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">Configuration</th>
            <th scope="col">{left.name}</th>
            <th scope="col">{right.name}</th>
            <th scope="col">Differs</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ title, value }) => {
            const of = ({ runs }: Side) => [...new Set(runs.map(value))].toSorted(inOrder);
            const [a, b] = [of(left), of(right)];
            const isSame = a.length === b.length && a.every((one, index) => one === b[index]);
            return (
              <tr key={title} class={isSame ? undefined : "differs"}>
                <th scope="row">{title}</th>
                <td>{namedValues(a)}</td>
                <td>{namedValues(b)}</td>
                <td>{isSame ? "no" : "yes"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollingTable>
  );
}

function inOrder(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

function namedValues(values: readonly string[]): string {
  const more = values.length - mostNamed;
  const named = values.slice(0, mostNamed).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
