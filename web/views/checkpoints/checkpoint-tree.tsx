import { useMemo } from "preact/hooks";
import { formatBytes } from "../../components/format.ts";
import { Ago } from "../../components/time.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { laneCount, type LaneRow, lanesOf } from "./lanes.ts";
import type { Checkpoint } from "./stored-state.ts";

/** Pixels of a row and of a lane at a text size of 16. */
const rowHeight = 48;
const laneWidth = 14;
/** Lanes that are drawn: those further right are drawn as the last one. */
const maxLanes = 12;

export interface Marks {
  readonly a: string | undefined;
  readonly b: string | undefined;
}

/** Why a checkpoint was written, in words. */
const triggers: Readonly<Record<Checkpoint["trigger"], string>> = {
  input: "input received",
  node: "node ran",
  tool_result: "tools ran",
  turn_complete: "turn ended",
  manual: "forked or edited",
};

export function triggerText({ trigger }: Pick<Checkpoint, "trigger">): string {
  return triggers[trigger];
}

/** The nodes that made a checkpoint, or what it is the beginning of. */
export function titleOf({ nodes, trigger }: Pick<Checkpoint, "nodes" | "trigger">): string {
  if (nodes.length > 0) return nodes.join(", ");
  return trigger === "input" ? "Input" : "Start";
}

/** What did not end well at a checkpoint: a node that threw, or one that waits. */
export function stoppedNodes({ node_outcomes: outcomes }: Pick<Checkpoint, "node_outcomes">) {
  return Object.entries(outcomes).flatMap(([node, outcome]) =>
    outcome === "success" ? [] : [{ node, outcome }],
  );
}

/** Checkpoints, newest first, with their branches left of them. */
export function CheckpointTree({
  items,
  selected,
  marks,
  hrefOf,
  onEnd,
}: {
  items: readonly Checkpoint[];
  selected: string | undefined;
  marks: Marks;
  hrefOf: (id: string) => string;
  onEnd: () => void;
}) {
  const rows = useMemo(() => {
    const lanes = lanesOf(items);
    return {
      count: Math.min(maxLanes, laneCount(lanes)),
      of: new Map(items.map(({ id }, index) => [id, lanes[index]])),
    };
  }, [items]);
  return (
    <div class="checkpoint-tree">
      <VirtualList
        label="Checkpoints"
        items={items}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf(id)}
        isSelected={({ id }) => id === selected}
        rowHeight={rowHeight}
        columns={`${(rows.count * laneWidth) / 16}rem minmax(0, 1fr) auto`}
        onEnd={onEnd}
        row={(checkpoint) => {
          const lane = rows.of.get(checkpoint.id);
          return (
            <>
              {lane === undefined ? (
                <i />
              ) : (
                <Lanes row={lane} count={rows.count} tone={toneOfRow(checkpoint)} />
              )}
              <span class="what">
                <span class="truncate">
                  <strong>{titleOf(checkpoint)}</strong>
                  {stoppedNodes(checkpoint).map(({ node, outcome }) => (
                    <span key={node} class={outcome === "failure" ? "stopped bad" : "stopped wait"}>
                      {" "}
                      {node} {outcome === "failure" ? "failed" : "waits"}
                    </span>
                  ))}
                  {lane?.isCurrent === false && <span class="visually-hidden"> (left behind)</span>}
                </span>
                <span class="faint truncate">
                  {triggerText(checkpoint)}
                  {checkpoint.forked_from !== null && " · from another thread"}
                  {checkpoint.status !== null &&
                    ` · ${checkpoint.status.toLowerCase().replaceAll("_", " ")}`}
                </span>
              </span>
              <span class="when">
                <span class="number soft">
                  <MarkTags id={checkpoint.id} marks={marks} />
                  {formatBytes(checkpoint.bytes)}
                </span>
                <span class="faint">
                  <Ago at={checkpoint.created_at} />
                </span>
              </span>
            </>
          );
        }}
      />
    </div>
  );
}

/** Which side of a comparison a checkpoint is. */
function MarkTags({ id, marks }: { id: string; marks: Marks }) {
  return (
    <>
      {(["a", "b"] as const).map(
        (name) =>
          marks[name] === id && (
            <span key={name}>
              <span class="badge live">{name.toUpperCase()}</span>{" "}
            </span>
          ),
      )}
    </>
  );
}

function toneOfRow(checkpoint: Checkpoint): string {
  const [stopped] = stoppedNodes(checkpoint);
  if (stopped !== undefined) return stopped.outcome === "failure" ? "bad" : "wait";
  if (checkpoint.trigger !== "turn_complete") return "";
  return checkpoint.status === "COMPLETED" ? "good" : checkpoint.status === "FAILED" ? "bad" : "";
}

/** The lanes of one row. What is left behind is fainter. */
function Lanes({ row, count, tone }: { row: LaneRow; count: number; tone: string }) {
  const x = (lane: number) => Math.min(lane, count - 1) * laneWidth + laneWidth / 2;
  const [at, middle] = [x(row.lane), rowHeight / 2];
  const bend = (from: number) =>
    `M${x(from)} 0C${x(from)} ${middle * 0.7} ${at} ${middle * 0.3} ${at} ${middle}`;
  return (
    <svg class="lanes" viewBox={`0 0 ${count * laneWidth} ${rowHeight}`} aria-hidden="true">
      {row.through.map((lane) => (
        <path key={lane} class={lane === 0 ? "current" : ""} d={`M${x(lane)} 0V${rowHeight}`} />
      ))}
      {row.into.map((lane) => (
        <path key={`in${lane}`} class={lane === 0 ? "current" : ""} d={bend(lane)} />
      ))}
      {row.hasParent && (
        <path class={row.isCurrent ? "current" : ""} d={`M${at} ${middle}V${rowHeight}`} />
      )}
      <circle class={`${row.isCurrent ? "current" : ""} ${tone}`} cx={at} cy={middle} r="4.5" />
    </svg>
  );
}
