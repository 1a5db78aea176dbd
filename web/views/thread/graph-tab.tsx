import { useLocation } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { formatDuration } from "../../components/format.ts";
import { Graph } from "../../components/graph.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { links } from "../../links.ts";
import { type AgentGraph, durationOf, nodeIdOf, pathGraph } from "./path-graph.ts";
import { usePath, useSteps } from "./thread-data.ts";
import {
  entryFinder,
  failureOf,
  type PathEntry,
  type Step,
  type Thread,
} from "./thread-records.ts";

/** The graph of the thread's agent with the path that was taken, node by node. */
export function GraphTab({ thread }: { thread: Thread }) {
  const { thread_id: threadId, agent_id: agentId, version_id: versionId } = thread;
  const { query } = useLocation();
  const path = usePath(threadId);
  const steps = useSteps(threadId, query["namespace"] ?? "");
  const graph = useQuery(agentId === null ? null : `graph ${agentId} ${versionId}`, (signal) =>
    graphOf(agentId ?? "", versionId, signal),
  );
  const isLoading = path.items === null || (graph.data === null && graph.isLoading);
  if (path.error !== null) return <Failure error={path.error} retry={path.reload} />;
  if (isLoading) return <Loading lines={8} />;
  if (graph.data === null && path.items.length === 0)
    return (
      <Empty title="Nothing ran yet">
        <p>The graph appears as soon as the first node has ended.</p>
      </Empty>
    );
  return (
    <Playback threadId={threadId} graph={graph.data} path={path.items} steps={steps.items ?? []} />
  );
}

/** Reads the graph of the version with which a thread began; of the active one if that is not among the newest 100. */
async function graphOf(
  agentId: string,
  versionId: string | null,
  signal: AbortSignal,
): Promise<AgentGraph | null> {
  const path = { agent_id: agentId };
  const { versions } = await bodyOf(
    api.GET("/v1/agents/{agent_id}/versions", {
      params: { path, query: { limit: 100 } },
      signal,
    }),
  );
  const version = versions.find(({ version_id: id }) => id === versionId)?.version;
  const body = await bodyOf(
    api.GET("/v1/agents/{agent_id}/graph", {
      params: { path, query: { format: "json", ...(version !== undefined && { version }) } },
      signal,
    }),
  );
  return body.format === "json" ? (body.graph as AgentGraph) : null;
}

/** Milliseconds a node is shown for. */
const playMs = 700;

interface PlaybackProps {
  readonly threadId: string;
  readonly graph: AgentGraph | null;
  readonly path: readonly PathEntry[];
  readonly steps: readonly Step[];
}

function Playback({ threadId, graph, path, steps }: PlaybackProps) {
  const { query, route } = useLocation();
  const [isPlaying, setPlaying] = useState(false);
  const last = path.length - 1;
  const stepOf = useMemo(() => stepsOfEntries(path, steps), [path, steps]);
  const at = placeOf(query, path, stepOf);
  const go = (to: number) => {
    const index = Math.min(last, Math.max(0, to));
    const step = path[index] && stepOf.get(path[index])?.id;
    // A node without a step keeps the one that is selected.
    route(
      links.graph(threadId, { ...query, at: index, ...(step !== undefined && { step }) }),
      true,
    );
  };
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (at !== null && at >= last) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => go((at ?? -1) + 1), playMs);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);
  const toggle = () => {
    if (!isPlaying && (at === null || at >= last)) go(0);
    setPlaying(!isPlaying);
  };
  const showAll = () => {
    setPlaying(false);
    route(links.graph(threadId, { ...query, at: null, step: null }), true);
  };
  useShortcuts("Playback", [
    { keys: "p", does: "Play, or pause", run: toggle },
    { keys: "j", does: "Next node", run: () => go((at ?? -1) + 1) },
    { keys: "k", does: "Previous node", run: () => go((at ?? path.length) - 1) },
    { keys: "Escape", does: "Show the whole path", run: showAll },
  ]);
  const drawn = useMemo(
    () =>
      pathGraph(graph, at === null ? path : path.slice(0, at + 1), (entry) => {
        const step = stepOf.get(entry);
        return step !== undefined && failureOf(step) !== null;
      }),
    [graph, path, at, stepOf],
  );
  const groups = drawn.groups.map(({ id }) => id);
  const opened = new Set((query["expanded"] ?? "").split(",").filter((id) => id !== ""));
  const collapsed = useMemo(
    () => new Set(groups.filter((id) => !opened.has(id))),
    [groups.join(","), query["expanded"]],
  );
  const toggleGroup = (id: string) => {
    if (opened.has(id)) opened.delete(id);
    else opened.add(id);
    route(links.graph(threadId, { ...query, expanded: [...opened].join(",") }), true);
  };
  const current = at === null ? undefined : path[at];
  const selected = current === undefined ? null : shownAs(nodeIdOf(current), drawn, collapsed);
  return (
    <div class="path-graph">
      <div class="toolbar">
        <span class="row">
          <button
            type="button"
            class="button small"
            aria-label="Previous node"
            title="Previous node (k)"
            disabled={at === 0}
            onClick={() => go((at ?? path.length) - 1)}
          >
            ‹
          </button>
          <button type="button" class="button small" onClick={toggle} title="Play, or pause (p)">
            {isPlaying ? "Pause" : "Play"}
          </button>
          <button
            type="button"
            class="button small"
            aria-label="Next node"
            title="Next node (j)"
            disabled={at === last}
            onClick={() => go((at ?? -1) + 1)}
          >
            ›
          </button>
        </span>
        <input
          class="grow"
          type="range"
          min={0}
          max={Math.max(0, last)}
          value={at ?? last}
          aria-label="Place on the path"
          aria-valuetext={
            current === undefined
              ? "the whole path"
              : `${at! + 1} of ${path.length}: ${current.node}`
          }
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <span class="number soft path-place">
          {current === undefined ? (
            `${path.length} executions`
          ) : (
            <>
              {at! + 1} of {path.length}
            </>
          )}
        </span>
        {current !== undefined && (
          <button type="button" class="button small plain" onClick={showAll}>
            Whole path
          </button>
        )}
      </div>
      <Graph
        label="Path through the graph"
        {...drawn}
        selected={selected}
        collapsed={collapsed}
        onToggleGroup={toggleGroup}
        onOpen={({ id }) => {
          const before = at === null ? path.length : at;
          const isOf = (entry: PathEntry, index: number) =>
            index < before && nodeIdOf(entry) === id;
          const found = path.findLastIndex(isOf);
          const to = found === -1 ? path.findLastIndex((entry) => nodeIdOf(entry) === id) : found;
          if (to !== -1) go(to);
        }}
      />
      <p class="path-told" role="status">
        {current === undefined ? (
          <span class="faint">
            Enter on a node goes to its last execution, and further back each time.
          </span>
        ) : (
          <Told entry={current} step={stepOf.get(current)} threadId={threadId} />
        )}
      </p>
    </div>
  );
}

function Told({
  entry,
  step,
  threadId,
}: {
  entry: PathEntry;
  step: Step | undefined;
  threadId: string;
}) {
  const { within, node, turn, attempt, outcome, namespace } = entry;
  const why = step === undefined ? null : failureOf(step);
  return (
    <>
      <strong>{[...within, node].join(" › ")}</strong>{" "}
      <span class="soft number">
        turn {turn}, attempt {attempt},{" "}
        {outcome === "success" ? formatDuration(durationOf(entry)) : outcome}
      </span>{" "}
      {why !== null && <span class="bad-text">{why}</span>}{" "}
      {step !== undefined && (
        <a href={links.thread(threadId, { step: step.id, namespace })}>Open step {step.id}</a>
      )}
    </>
  );
}

/** Where the playback is: as the address says, else where the selected step was made. Null for the whole path. */
function placeOf(
  query: Readonly<Record<string, string>>,
  path: readonly PathEntry[],
  stepOf: ReadonlyMap<PathEntry, Step>,
): number | null {
  const at = Number.parseInt(query["at"] ?? "", 10);
  if (Number.isInteger(at) && at >= 0 && at < path.length) return at;
  const { step } = query;
  const place = step === undefined ? -1 : path.findIndex((one) => stepOf.get(one)?.id === step);
  return place === -1 ? null : place;
}

function stepsOfEntries(
  path: readonly PathEntry[],
  steps: readonly Step[],
): ReadonlyMap<PathEntry, Step> {
  const find = entryFinder(path);
  return new Map(
    steps.flatMap((step) => {
      const entry = find(step);
      return entry === undefined ? [] : [[entry, step] as const];
    }),
  );
}

/** Returns the id under which a node is drawn: its own, or that of the outermost collapsed group around it. */
function shownAs(
  id: string,
  { nodes, groups }: Pick<ReturnType<typeof pathGraph>, "nodes" | "groups">,
  collapsed: ReadonlySet<string>,
): string {
  const byId = new Map(groups.map((group) => [group.id, group]));
  let shown = id;
  let group = nodes.find((node) => node.id === id)?.group ?? null;
  while (group !== null) {
    if (collapsed.has(group)) shown = `group ${group}`;
    group = byId.get(group)?.parent ?? null;
  }
  return shown;
}
