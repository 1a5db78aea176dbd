import { knownSum, mean } from "./figures.js";

/** The metrics of a cycle, as the log has them. */
export const metrics = [
  { name: "memory_ops_total", title: "Memory calls", unit: "calls a cycle", short: "memory calls" },
  {
    name: "messages_to_operator",
    title: "Messages to the operator",
    unit: "messages a cycle",
    short: "messages",
  },
  {
    name: "response_chars",
    title: "Response length",
    unit: "characters a cycle",
    short: "response chars",
  },
  {
    name: "memory_write_chars",
    title: "Written to memory",
    unit: "characters a cycle",
    short: "written chars",
  },
];

/** What the memory holds at the end of a cycle. */
export const memorySizes = [
  { name: "memory_keys", title: "Keys in memory", unit: "keys at the end of a cycle" },
  { name: "memory_chars", title: "Text in memory", unit: "characters at the end of a cycle" },
];

const data = JSON.parse(document.querySelector("#data").textContent);

export const source = {
  title: data.title,
  folder: data.folder,
  madeAt: data.made_at,
  leftOut: data.left_out,
};

/** The runs, each with its place, how many cycles have ended, and the means of its metrics. */
export const runs = data.runs.map((run, index) => ({
  ...run,
  index,
  cycles: run.reflections.length,
  means: Object.fromEntries(metrics.map(({ name }) => [name, mean(run[name])])),
  tokens: knownSum([...run.tokens_in, ...run.tokens_out]),
  cost: run.cost_usd.length === 0 ? 0 : knownSum(run.cost_usd),
  seedName: run.seed === null ? "no seed" : `seed ${run.seed}`,
  promptName: run.prompt_name ?? "no prompt name",
}));

export const longestRun = Math.max(0, ...runs.map(({ cycles }) => cycles));
/** Whether the runs differ in their prompts. */
export const hasPrompts = runs.some(({ prompt_name: name }) => name !== null);

/** The different values of something that runs have, in the order of the runs. */
export function distinct(valueOf, of = runs) {
  return [...new Set(of.map(valueOf))];
}

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
