import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  type ArrowKey,
  type Direction,
  edgePaths,
  edgeText,
  type GraphContent,
  type GraphLayout,
  type GraphNode,
  layoutGraph,
  nextNode,
  type PlacedNode,
} from "./graph-layout.ts";
import { useShortcuts } from "./shortcuts.tsx";
import "../styles/graph.css";

interface GraphProps extends GraphContent {
  /** Names the graph for screen readers. */
  readonly label: string;
  readonly direction?: Direction;
  /** Where a node leads. Nodes are links then. */
  readonly hrefOf?: (node: GraphNode) => string | null;
  /** Opens a node that leads nowhere else. */
  readonly onOpen?: (node: GraphNode) => void;
  /** The node that is marked, and kept in sight as it changes. */
  readonly selected?: string | null;
  /** Ids of groups that are drawn as one node. */
  readonly collapsed?: ReadonlySet<string>;
  readonly onToggleGroup?: (group: string) => void;
}

/** Below this scale texts cannot be read: a larger graph is shown from its beginning. */
const leastReadable = 0.7;
const allCollapsed: ReadonlySet<string> = new Set();

/**
 * A graph that can be moved and zoomed. Nodes are links or buttons: arrow keys lead along the edges and to the nodes
 * beside, Enter opens one. `+`, `-` and `0` zoom; the wheel does with Ctrl, or once the graph has the focus.
 */
export function Graph(props: GraphProps) {
  const { nodes, edges, groups, label, direction = "down", collapsed = allCollapsed } = props;
  const { selected = null } = props;
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const last = useRef<GraphLayout | undefined>(undefined);
  const content = { nodes, edges, ...(groups && { groups }) };
  const placed = layoutGraph(content, { collapsed, direction, scale }, last.current);
  last.current = placed;
  const viewport = useRef<HTMLDivElement>(null);
  const plane = useRef<HTMLDivElement>(null);
  const view = useZoom({ viewport, plane, placed, selected });
  const [focused, setFocused] = useState<string | null>(null);
  const known = placed.nodes.some(({ id }) => id === focused);
  const tabStop = known ? focused : (selected ?? placed.nodes[0]?.id ?? null);

  const focus = (id: string | null) => {
    const index = placed.nodes.findIndex((node) => node.id === id);
    const node = placed.nodes[index];
    if (node === undefined) return;
    setFocused(node.id);
    view.reveal(node);
    plane.current
      ?.querySelector<HTMLElement>(`[data-node="${index}"]`)
      ?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = nextNode(placed, tabStop ?? "", event.key as ArrowKey);
    focus(next ?? tabStop);
  };
  return (
    <div class="graph" role="group" aria-label={label}>
      <div class="graph-viewport" ref={viewport} onKeyDown={onKeyDown}>
        <div
          class="graph-plane"
          ref={plane}
          style={{ width: `${placed.width}px`, height: `${placed.height}px` }}
        >
          {placed.groups.map((group) => (
            <div
              key={`group ${group.id}`}
              class="graph-group"
              style={{
                left: `${group.x}px`,
                top: `${group.y}px`,
                width: `${group.width}px`,
                height: `${group.height}px`,
              }}
            >
              <GroupName
                name={group.label}
                onToggle={props.onToggleGroup && (() => props.onToggleGroup?.(group.id))}
              />
            </div>
          ))}
          <Edges placed={placed} scale={scale} />
          {placed.nodes.map((node, index) => (
            <Node
              key={node.id}
              node={node}
              index={index}
              isTabStop={node.id === tabStop}
              isSelected={node.id === selected}
              href={node.isGroup ? null : (props.hrefOf?.(node) ?? null)}
              onFocus={() => setFocused(node.id)}
              onOpen={
                node.isGroup
                  ? () => props.onToggleGroup?.(node.id.slice("group ".length))
                  : () => props.onOpen?.(node)
              }
            />
          ))}
        </div>
      </div>
      <div class="graph-zoom">
        <button
          type="button"
          class="button small"
          aria-label="Zoom in"
          title="Zoom in (+)"
          onClick={view.zoomIn}
        >
          +
        </button>
        <button
          type="button"
          class="button small"
          aria-label="Zoom out"
          title="Zoom out (-)"
          onClick={view.zoomOut}
        >
          −
        </button>
        <button type="button" class="button small" title="Fit to view (0)" onClick={view.fit}>
          Fit
        </button>
      </div>
    </div>
  );
}

function GroupName({ name, onToggle }: { name: string; onToggle: (() => void) | undefined }) {
  if (onToggle === undefined) return <span class="graph-group-name truncate">{name}</span>;
  return (
    <button type="button" class="graph-group-name truncate" aria-expanded="true" onClick={onToggle}>
      ▾ {name}
    </button>
  );
}

function Edges({ placed, scale }: { placed: GraphLayout; scale: number }) {
  // Edges that were taken are drawn over the others.
  const ordered = placed.edges.toSorted((a, b) => (a.taken ?? 0) - (b.taken ?? 0));
  return (
    <svg class="graph-edges" width={placed.width} height={placed.height} aria-hidden="true">
      {ordered.map((edge) => {
        const { line, head } = edgePaths(edge.points, scale);
        const isTaken = (edge.taken ?? 0) > 0;
        const kind = `${isTaken ? " taken" : ""}${edge.isConditional === true ? " conditional" : ""}`;
        const text = edgeText(edge);
        return (
          <g
            key={`${edge.from} ${edge.to}`}
            class={`graph-edge${kind}${edge.isBack ? " back" : ""}`}
          >
            <path class="line" d={line} />
            <path class="head" d={head} />
            {text !== "" && edge.labelAt !== null && (
              <text x={edge.labelAt.x} y={edge.labelAt.y}>
                {text}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

interface NodeProps {
  readonly node: PlacedNode;
  readonly index: number;
  readonly isTabStop: boolean;
  readonly isSelected: boolean;
  readonly href: string | null;
  readonly onFocus: () => void;
  readonly onOpen: () => void;
}

function Node({ node, index, isTabStop, isSelected, href, onFocus, onOpen }: NodeProps) {
  const { x, y, width, height, tone = "idle", shape = "node", count = 0 } = node;
  const attributes = {
    class: `graph-node ${shape} ${tone}${node.isGroup ? " collapsed" : ""}`,
    style: { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` },
    tabIndex: isTabStop ? 0 : -1,
    "data-node": index,
    draggable: false,
    title: node.label,
    "aria-current": isSelected ? ("true" as const) : undefined,
    onFocus,
  };
  const content = (
    <>
      <span class="graph-node-label">
        <span class="truncate">{node.label}</span>
        {count > 1 && (
          <span class="graph-node-count number">
            ×{count}
            <span class="visually-hidden"> executions</span>
          </span>
        )}
      </span>
      {node.detail !== undefined && shape === "node" && (
        <span class="graph-node-detail truncate number">{node.detail}</span>
      )}
    </>
  );
  if (href !== null)
    return (
      <a {...attributes} href={href}>
        {content}
      </a>
    );
  return (
    <button
      type="button"
      {...attributes}
      onClick={onOpen}
      aria-expanded={node.isGroup ? "false" : undefined}
    >
      {content}
    </button>
  );
}

interface ZoomOptions {
  readonly viewport: { readonly current: HTMLDivElement | null };
  readonly plane: { readonly current: HTMLDivElement | null };
  readonly placed: GraphLayout;
  readonly selected: string | null;
}

/** Moves and scales the plane. */
function useZoom({ viewport, plane, placed, selected }: ZoomOptions) {
  const [behaviour] = useState(() => zoom<HTMLDivElement, unknown>().scaleExtent([0.05, 2]));
  /** Whether the place was chosen by a person: it is kept as the graph grows then. */
  const wasMoved = useRef(false);
  const latest = useRef(placed);
  latest.current = placed;
  const apply = (change: (of: Selection<HTMLDivElement, unknown, null, undefined>) => void) => {
    if (viewport.current !== null) change(select(viewport.current));
  };
  useEffect(() => {
    const element = viewport.current;
    if (element === null) return undefined;
    behaviour
      .filter((event: Event) => {
        if (event instanceof WheelEvent) {
          return event.ctrlKey || event.metaKey || element.contains(document.activeElement);
        }
        return !(event instanceof MouseEvent) || (event.button === 0 && !event.ctrlKey);
      })
      .on(
        "zoom",
        ({ transform, sourceEvent }: { transform: typeof zoomIdentity; sourceEvent: unknown }) => {
          if (sourceEvent !== null && sourceEvent !== undefined) wasMoved.current = true;
          if (plane.current === null) return;
          plane.current.style.transform = `translate(${transform.x}px, ${transform.y}px) scale(${transform.k})`;
        },
      );
    // A double click would start a transition, and there are none: see no-transitions.ts.
    select(element).call(behaviour).on("dblclick.zoom", null);
    const resized = new ResizeObserver(() => {
      if (!wasMoved.current) begin();
    });
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const fitTo = (least: number) => {
    const element = viewport.current;
    const { width, height } = latest.current;
    if (element === null || width === 0 || element.clientWidth === 0) return;
    const room = Math.min(element.clientWidth / width, element.clientHeight / height);
    const k = Math.min(1, Math.max(least, room));
    const middle = (size: number, whole: number) => Math.max(0, (size - whole * k) / 2);
    const isDown = latest.current.direction === "down";
    // Where the graph does not fit, it is shown from its beginning, in the middle of the other axis.
    const x = isDown ? (element.clientWidth - width * k) / 2 : middle(element.clientWidth, width);
    const y = isDown
      ? middle(element.clientHeight, height)
      : (element.clientHeight - height * k) / 2;
    apply((of) => behaviour.transform(of, zoomIdentity.translate(x, y).scale(k)));
  };
  const begin = () => {
    fitTo(leastReadable);
    const node = latest.current.nodes.find(({ id }) => id === selectedNow.current);
    if (node !== undefined) reveal(node);
  };
  const reveal = (node: PlacedNode) => {
    const element = viewport.current;
    if (element === null) return;
    const { x, y, k } = zoomTransform(element);
    const box = { left: node.x * k + x, top: node.y * k + y };
    const isSeen =
      box.left >= 0 &&
      box.top >= 0 &&
      box.left + node.width * k <= element.clientWidth &&
      box.top + node.height * k <= element.clientHeight;
    if (isSeen) return;
    apply((of) => behaviour.translateTo(of, node.x + node.width / 2, node.y + node.height / 2));
  };
  const selectedNow = useRef(selected);
  selectedNow.current = selected;
  useLayoutEffect(() => {
    if (!wasMoved.current) begin();
  }, [placed.key]);
  useEffect(() => {
    const node = placed.nodes.find(({ id }) => id === selected);
    if (node !== undefined) reveal(node);
  }, [selected]);
  const zoomBy = (factor: number) => {
    wasMoved.current = true;
    apply((of) => behaviour.scaleBy(of, factor));
  };
  const view = {
    reveal,
    zoomIn: () => zoomBy(1.3),
    zoomOut: () => zoomBy(1 / 1.3),
    fit: () => {
      wasMoved.current = false;
      fitTo(0);
    },
  };
  useShortcuts("Graph", [
    { keys: "+", does: "Zoom in", run: view.zoomIn },
    { keys: "-", does: "Zoom out", run: view.zoomOut },
    { keys: "0", does: "Fit the graph to the view", run: view.fit },
  ]);
  return view;
}
