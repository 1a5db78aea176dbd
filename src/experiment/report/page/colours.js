import { distinct, runs } from "./report-data.js";

/** Colours of the style sheet, which has others for the dark. */
const colourCount = 10;

/** What runs may be told apart by. */
export const groupings = {
  model: (run) => run.model_name,
  prompt: (run) => run.promptName,
  seed: (run) => run.seedName,
  run: (run) => run.run_id,
};

const groups = Object.fromEntries(
  Object.entries(groupings).map(([by, valueOf]) => [by, distinct(valueOf)]),
);

/** The groups that runs fall into, in the order of the runs. */
export function groupsBy(by) {
  return groups[by];
}

/** The colour of a group, the same everywhere on the page. */
export function colourOf(by, group) {
  return `var(--c${groups[by].indexOf(group) % colourCount})`;
}

export function modelColour(run) {
  return colourOf("model", run.model_name);
}

/** Groupings by which the runs differ, of those given. */
export function tellingApart(...of) {
  return of.filter((by) => groups[by].length > 1 || runs.length === 0);
}
