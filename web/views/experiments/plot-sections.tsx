import type { ComponentChildren } from "preact";
import { CyclePlot } from "./cycle-plot.tsx";
import { cyclesPerPoint } from "./figures.ts";
import { ModelPlot } from "./model-plot.tsx";
import { type Grouping, groupingTitles, memorySizes, metrics, type Report } from "./report-data.ts";
import { joinNames, splitNames, useSelection } from "./selection.ts";
import { Section, Swatch } from "./section.tsx";

/** Cycles that a line is smoothed over, and how many there are where it is worth a choice. */
const smoothings = [
  { value: "1", title: "Off", from: 0 },
  { value: "5", title: "5 cycles", from: 10 },
  { value: "20", title: "20 cycles", from: 40 },
  { value: "100", title: "100 cycles", from: 400 },
];
/** From so many cycles on, lines are smoothed at first. */
const manyCycles = 100;

/** The three parts with plots, which share their colours and what is hidden. */
export function PlotSections({ report }: { report: Report }) {
  const { query, set } = useSelection();
  const { longest } = report;
  const colours: readonly Grouping[] = [
    "model",
    ...report.tellingApart("experiment", "condition", "prompt", "seed", "run"),
  ];
  const splits = report.tellingApart("experiment", "condition", "model", "prompt", "seed");
  const offered = smoothings.filter(({ from }) => longest >= from);
  const usualSmooth = longest < manyCycles ? "1" : "20";
  const by = colours.find((one) => one === query["colour"]) ?? "model";
  const split = splits.find((one) => one === query["split"]) ?? "none";
  const smooth = offered.find(({ value }) => value === query["smooth"])?.value ?? usualSmooth;
  const hidden = new Set(splitNames(query["hide"]));
  const shown = report.runs.filter(({ groups }) => !hidden.has(groups[by]));
  const toggle = (group: string) => {
    if (!hidden.delete(group)) hidden.add(group);
    set({ hide: joinNames([...hidden]) });
  };
  const named = (one: Grouping) => ({ value: one, title: groupingTitles[one] });
  const perPoint = cyclesPerPoint(longest);
  const each = perPoint === 1 ? "" : `, each point the mean of ${perPoint} cycles`;
  return (
    <div class="plot-sections">
      <div class="controls">
        {colours.length > 1 && (
          <Choice
            label="Colour"
            options={colours.map(named)}
            chosen={by}
            choose={(one) => set({ colour: one === "model" ? null : one, hide: null })}
          />
        )}
        {splits.length > 0 && (
          <Choice
            label="Split"
            options={[{ value: "none", title: "One panel" }, ...splits.map(named)]}
            chosen={split}
            choose={(one) => set({ split: one === "none" ? null : one })}
          />
        )}
        {offered.length > 1 && (
          <Choice
            label="Smooth"
            options={offered}
            chosen={smooth}
            choose={(one) => set({ smooth: one === usualSmooth ? null : one })}
          />
        )}
        <ul class="legend" aria-label={`Colours by ${by}`}>
          {report.groupsBy(by).map((group) => (
            <li key={group}>
              <button
                type="button"
                aria-pressed={!hidden.has(group)}
                title="Show or hide"
                onClick={() => toggle(group)}
              >
                <Swatch colour={report.colourOf(by, group)} />
                <span>{group}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
      <Section
        id="cycles"
        title="Metrics by cycle"
        note={`One line a run${each}; where runs share a colour, the strong line is their mean. Lines that coincide are dashed.`}
      >
        <Plots>
          {metrics.map((measure) => (
            <CyclePlot
              key={measure.name}
              {...{ report, measure, shown, by, split, smooth: Number(smooth) }}
            />
          ))}
        </Plots>
      </Section>
      <Section
        id="models"
        title="Metrics by model and seed"
        note="A point a run: its mean of a cycle. The line spans a condition's runs, the bar is their median. Points that coincide are set apart."
      >
        <Plots>
          {metrics.map((measure) => (
            <ModelPlot key={measure.name} {...{ report, measure, shown, by }} />
          ))}
        </Plots>
      </Section>
      <Section id="memory" title="Memory growth" note="What is in memory at the end of each cycle.">
        <Plots>
          {memorySizes.map((measure) => (
            <CyclePlot
              key={measure.name}
              {...{ report, measure, shown, by, split, smooth: Number(smooth) }}
            />
          ))}
        </Plots>
      </Section>
    </div>
  );
}

function Plots({ children }: { children: ComponentChildren }) {
  return <div class="plots">{children}</div>;
}

/** Choices of which one holds, as a group of buttons. */
function Choice<Value extends string>({
  label,
  options,
  chosen,
  choose,
}: {
  label: string;
  options: readonly { readonly value: Value; readonly title: string }[];
  chosen: Value;
  choose: (value: Value) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      <span class="faint" aria-hidden="true">
        {label}
      </span>
      <div class="choice-buttons">
        {options.map(({ value, title }) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === chosen}
            onClick={() => choose(value)}
          >
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}
