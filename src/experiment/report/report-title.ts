import { basename, resolve } from "node:path";
import { headOf } from "../../state/cut-text.ts";
import type { RunSummary } from "./run-summary.ts";

const mostCharacters = 80;

/** What a report is of: the experiment, which is what the ids of its runs begin with, or the folder of several. */
export function reportTitle({
  folder,
  runs,
}: {
  readonly folder: string;
  readonly runs: readonly Pick<RunSummary, "run_id">[];
}): string {
  const [first = [], ...others] = runs.map(({ run_id }) => run_id.split("."));
  const differs = first.findIndex((part, at) => others.some((id) => id[at] !== part));
  const shared = (differs < 0 ? first : first.slice(0, differs)).join(".");
  const name = shared === "" ? basename(resolve(folder)) || folder : shared;
  const shown = name.length > mostCharacters ? `${headOf(name, mostCharacters)}…` : name;
  return `Experiment report: ${shown}`;
}
