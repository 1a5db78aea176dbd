import { formatPath, type DefinitionPath } from "../../definition/problems.ts";
import { isRecord } from "../../state/is-record.ts";
import { sameValue } from "../../state/value-diff.ts";
import type { ConfigChange } from "../errors.ts";
import type { RunSpec } from "./run-spec.ts";

/** Of servers and packages: what may hold secrets. */
const hiddenKeys: readonly unknown[] = ["headers", "env", "args", "options", "endpoint"];

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
