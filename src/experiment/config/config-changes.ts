import { type DefinitionPath, formatPath } from "../../definition/check/problems.ts";
import { isDataTool } from "../../definition/schema/data-tools.ts";
import { sameValue } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import { type ConfigChange, ExperimentInputError } from "../errors.ts";
import { parseExperiment } from "./load-experiment.ts";
import type { RunSpec } from "./run-spec.ts";

/** Of servers and packages: what may hold secrets. */
const hiddenKeys: readonly unknown[] = [
  "headers",
  "env",
  "args",
  "options",
  "endpoint",
  "transport",
];

/** Characters of two texts that both begin with which are shown before their first difference. */
const shownBefore = 12;

/**
 * What a run's config says otherwise than it did: its cycles, and all that its hash is made of. A value that is left out
 * is undefined, two long texts begin shortly before their first difference, and what may be a secret is not shown.
 */
export function configChanges(before: RunSpec, now: RunSpec): readonly ConfigChange[] {
  const changes = changesIn([], comparable(before), comparable(now));
  const isOrder =
    !sameValue(before.tools, now.tools) && !changes.some(({ key }) => key.startsWith("tools"));
  if (!isOrder) return changes;
  return [...changes, { key: "tools", before: toolNames(before), now: toolNames(now) }];
}

type ToolEntry = RunSpec["tools"][number];

/** The parts that are compared. Servers and packages stand under their names. */
function comparable(run: RunSpec): Readonly<Record<string, unknown>> {
  const { ollama_client_config: _client, variant: _variant, tools, ...rest } = run;
  const counts = new Map<string, number>();
  const others = tools.flatMap((tool) => {
    if (typeof tool === "string") return [];
    const name = nameOf(tool);
    const earlier = counts.get(name) ?? 0;
    counts.set(name, earlier + 1);
    return [[earlier === 0 ? name : `${name} ${earlier + 1}`, tool] as const];
  });
  return {
    ...rest,
    tools: tools.filter((tool) => typeof tool === "string"),
    ...Object.fromEntries(others.map(([name, tool]) => [`tools.${name}`, tool])),
  };
}

function nameOf(tool: ToolEntry): string {
  if (typeof tool === "string") return tool;
  if (isDataTool(tool)) return tool.name;
  return "mcp" in tool ? tool.mcp.name : tool.community.tool;
}

function toolNames({ tools }: RunSpec): readonly string[] {
  return tools.map(nameOf);
}

function changesIn(path: DefinitionPath, before: unknown, now: unknown): readonly ConfigChange[] {
  if (sameValue(before, now)) return [];
  if (isRecord(before) && isRecord(now)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(now)]);
    return [...keys].flatMap((key) => changesIn([...path, key], before[key], now[key]));
  }
  const key = keyOf(path);
  if (path.some((part) => hiddenKeys.includes(part))) {
    return [{ key, before: hidden(before), now: hidden(now) }];
  }
  return [{ key, ...shown(before, now) }];
}

/** The first part is a path by itself. */
function keyOf([first = "", ...rest]: DefinitionPath): string {
  return rest.length === 0 ? String(first) : `${first}.${formatPath(rest)}`;
}

function hidden(value: unknown): unknown {
  return value === undefined ? undefined : "(not shown)";
}

function shown(before: unknown, now: unknown): Pick<ConfigChange, "before" | "now"> {
  if (typeof before === "string" && typeof now === "string") return differing(before, now);
  if (Array.isArray(before) && Array.isArray(now)) {
    const removed = before.filter((one) => !now.includes(one));
    const added = now.filter((one) => !before.includes(one));
    if (removed.length + added.length > 0) return { before: removed, now: added };
  }
  return { before: summary(before), now: summary(now) };
}

/** Of a server or a package, what kind it is: its settings may be secrets. */
function summary(value: unknown): unknown {
  return isRecord(value) ? Object.keys(value).join(", ") : value;
}

function differing(before: string, now: string): Pick<ConfigChange, "before" | "now"> {
  let same = 0;
  while (same < before.length && before[same] === now[same]) same += 1;
  const start = same - shownBefore;
  if (start <= 1) return { before, now };
  return { before: `…${before.slice(start)}`, now: `…${now.slice(start)}` };
}

/**
 * A run as a config of one run, which {@link runOf} reads; without how its model is reached, since that may change
 * between processes, and may hold what is not to be kept.
 */
export function configOf({ ollama_client_config: _client, ...run }: RunSpec): unknown {
  return run;
}

/** The error for an input that has no config. */
export function noConfigError(): ExperimentInputError {
  return new ExperimentInputError("expected { config }, the config of a run");
}

/**
 * The run that a graph was given: a config as in a file, without a matrix, or what {@link configOf} has made. The model
 * is not looked at: the runtime may have others than the built-in ones, and says so itself.
 *
 * @throws InvalidExperimentError; ExperimentInputError for no config, or one of several runs
 */
export function runOf(config: unknown): RunSpec {
  if (!isRecord(config)) throw noConfigError();
  const { variant, ...written } = config;
  const { runs } = parseExperiment(written, { instances: known(written["model_name"]) });
  const [run, ...others] = runs;
  if (run === undefined || others.length > 0) {
    throw new ExperimentInputError(
      `expected the config of one run, got a matrix of ${runs.length.toLocaleString("en")}; the command line runs them all`,
    );
  }
  const prompt = isRecord(variant) ? variant["system_prompt"] : null;
  const system_prompt = typeof prompt === "string" ? prompt : null;
  return { ...run, variant: { ...run.variant, system_prompt } };
}

function known(model: unknown) {
  return typeof model === "string" && model.includes(":") ? { [model]: undefined as never } : {};
}
