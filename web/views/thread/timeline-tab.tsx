import { useLocation } from "preact-iso";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatDuration } from "../../components/format.ts";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { links } from "../../links.ts";
import { usePath, useSteps } from "./thread-data.ts";
import { isOpenRun, type Run } from "./thread-records.ts";
import {
  barsInSight,
  marksInSight,
  type DrawnBar,
  type TimeScale,
  timeScale,
} from "./time-scale.ts";
import { BarElement, describeBar, type Placed } from "./timeline-bar.tsx";
import { type Bar, type TimelineContent, timelineOf } from "./timeline-lanes.ts";
import "../../styles/timeline.css";

/** When the nodes, requests to models and calls of a thread ran. */
export function TimelineTab({ threadId, runs }: { threadId: string; runs: readonly Run[] }) {
  const { query } = useLocation();
  const { namespace = "" } = query;
  const path = usePath(threadId);
  const steps = useSteps(threadId, namespace);
  const isRunning = runs.some(isOpenRun);
  const now = useNow(isRunning);
  const content = useMemo(
    () => timelineOf(path.items ?? [], steps.items ?? [], now),
    [path.items, steps.items, isRunning ? now : 0],
  );
  const error = path.error ?? steps.error;
  return (
    <>
      {error !== null && <Failure error={error} retry={path.reload} />}
      {path.items === null ? (
        error === null && <Loading lines={8} />
      ) : content.lanes.length === 0 ? (
        <Empty title="Nothing ran yet">
          <p>Bars appear as soon as the first node has ended.</p>
        </Empty>
      ) : (
        <Timeline threadId={threadId} content={content} />
      )}
    </>
  );
}

/** The time of now, each second while something runs. */
function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}

const maxZoom = 2_000;

function Timeline({ threadId, content }: { threadId: string; content: TimelineContent }) {
  const { query, route } = useLocation();
  const isShortened = query["idle"] !== "whole";
  const { lanes, sections } = content;
  const scale = useMemo(() => timeScale(lanes, isShortened), [lanes, isShortened]);
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ left: 0, seen: 800 });
  const [zoom, setZoom] = useState(1);
  const [told, setTold] = useState<DrawnBar | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const width = view.seen * zoom;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const measure = () => setView({ left: element.scrollLeft, seen: element.clientWidth });
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  /** Part of the width that stays in the middle as the zoom changes. */
  const middle = useRef<number | null>(null);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || middle.current === null) return;
    element.scrollLeft = middle.current * width - element.clientWidth / 2;
    middle.current = null;
    setView({ left: element.scrollLeft, seen: element.clientWidth });
  }, [zoom]);
  const zoomTo = (to: number, at = (view.left + view.seen / 2) / width) => {
    middle.current = at;
    setZoom(Math.min(maxZoom, Math.max(1, to)));
  };
  /** Shows what is drawn as one bar apart. */
  const zoomInto = ({ left, width: wide }: DrawnBar) =>
    zoomTo(Math.max(zoom * 2, (zoom * view.seen * 0.8) / wide), (left + wide / 2) / width);
  useShortcuts("Timeline", [
    { keys: "+", does: "Zoom in", run: () => zoomTo(zoom * 1.6) },
    { keys: "-", does: "Zoom out", run: () => zoomTo(zoom / 1.6) },
    { keys: "0", does: "Show all of it", run: () => zoomTo(1) },
    { keys: "i", does: "Shorten idle time, or show it whole", run: () => toggleIdle() },
  ]);
  const toggleIdle = () =>
    route(links.timeline(threadId, { ...query, idle: isShortened ? "whole" : null }), true);
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = scroller.current?.getBoundingClientRect();
    const at = (view.left + event.clientX - (box?.left ?? 0)) / width;
    zoomTo(zoom * (event.deltaY < 0 ? 1.2 : 1 / 1.2), at);
  };
  const inSight = (index: number, all = false) =>
    barsInSight(lanes[index]!, {
      scale,
      width,
      from: all ? Number.NEGATIVE_INFINITY : view.left - view.seen,
      to: all ? Number.POSITIVE_INFINITY : view.left + 2 * view.seen,
    });
  const keyOf = (index: number, { bars }: DrawnBar) => `${index} ${bars[0]!.id}`;
  const focus = (index: number, bar: DrawnBar) => {
    const element = scroller.current;
    if (element === null) return;
    const isSeen = bar.left >= view.left && bar.left + 8 <= view.left + view.seen;
    if (!isSeen) element.scrollLeft = bar.left - view.seen / 2;
    setFocused(keyOf(index, bar));
    requestAnimationFrame(() =>
      element
        .querySelector<HTMLElement>(`[data-bar="${CSS.escape(keyOf(index, bar))}"]`)
        ?.focus({ preventScroll: true }),
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key)) return;
    event.preventDefault();
    const at = (event.target as HTMLElement).dataset["bar"] ?? "0 ";
    const lane = Number(at.split(" ")[0]);
    const own = inSight(lane, true);
    const place = own.findIndex((bar) => keyOf(lane, bar) === at);
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = lane + (key === "ArrowUp" ? -1 : 1);
      if (lanes[next] === undefined) return;
      const from = own[place]?.left ?? view.left;
      const [nearest] = inSight(next, true).toSorted(
        (a, b) => Math.abs(a.left - from) - Math.abs(b.left - from),
      );
      if (nearest !== undefined) focus(next, nearest);
      return;
    }
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0 }[key] ?? own.length - 1;
    const bar = own[Math.min(own.length - 1, Math.max(0, to))];
    if (bar !== undefined) focus(lane, bar);
  };
  const drawn = lanes.map((_, index) => inSight(index));
  const firstShown = drawn.findIndex((bars) => bars.length > 0);
  const known = drawn.some((bars, index) => bars.some((bar) => keyOf(index, bar) === focused));
  const tabStop = known
    ? focused
    : keyOf(firstShown, drawn[firstShown]?.[0] ?? { bars: [{ id: "" } as Bar], left: 0, width: 0 });
  return (
    <div class="timeline">
      <div class="toolbar">
        <Sums scale={scale} />
        {scale.idleMs > 0 && (
          <button type="button" class="button small" title="(i)" onClick={toggleIdle}>
            {isShortened ? "Show idle time whole" : "Shorten idle time"}
          </button>
        )}
        <span class="row">
          <button
            type="button"
            class="button small"
            aria-label="Zoom in"
            title="Zoom in (+)"
            onClick={() => zoomTo(zoom * 1.6)}
          >
            +
          </button>
          <button
            type="button"
            class="button small"
            aria-label="Zoom out"
            title="Zoom out (-)"
            onClick={() => zoomTo(zoom / 1.6)}
          >
            −
          </button>
          <button
            type="button"
            class="button small"
            title="Show all of it (0)"
            onClick={() => zoomTo(1)}
          >
            All
          </button>
        </span>
      </div>
      <div class="timeline-box">
        <div class="timeline-names" aria-hidden="true">
          {lanes.map(({ name }, index) => (
            <span key={index} class="truncate" title={name}>
              {name}
            </span>
          ))}
        </div>
        <div
          class="timeline-scroll"
          ref={scroller}
          role="group"
          aria-label="Timeline"
          onKeyDown={onKeyDown}
          onWheel={onWheel}
          onScroll={(event) => {
            const { scrollLeft, clientWidth } = event.currentTarget;
            setView({ left: scrollLeft, seen: clientWidth });
          }}
        >
          <div class="timeline-plane" style={{ width: `${width}px` }}>
            <Sections sections={sections} scale={scale} width={width} view={view} />
            <Gaps scale={scale} width={width} />
            {lanes.map(({ name }, index) => (
              <div
                key={index}
                class="timeline-lane"
                role="group"
                aria-label={name === "" ? "Parallel lane" : name}
              >
                {drawn[index]!.map((bar) => (
                  <BarElement
                    key={bar.bars[0]!.id}
                    drawn={bar}
                    id={keyOf(index, bar)}
                    threadId={threadId}
                    scale={scale}
                    width={width}
                    isTabStop={keyOf(index, bar) === tabStop}
                    isSelected={bar.bars.some(
                      (one) => one.step !== null && one.step === query["step"],
                    )}
                    onTell={setTold}
                    onZoom={() => zoomInto(bar)}
                  />
                ))}
              </div>
            ))}
            <Ticks scale={scale} width={width} view={view} />
          </div>
        </div>
      </div>
      <p class="timeline-told number" aria-live="off">
        {told === null ? <Legend /> : describeBar(told, scale)}
      </p>
    </div>
  );
}

function Sums({ scale }: { scale: TimeScale }) {
  const wall = scale.to - scale.from;
  return (
    <span class="number grow soft">
      {formatDuration(wall)} in all, {formatDuration(wall - scale.idleMs)} active
      {scale.idleMs > 0 && `, ${formatDuration(scale.idleMs)} idle or waiting`}
    </span>
  );
}

function Legend() {
  return (
    <span class="row">
      <i class="swatch model" /> model <i class="swatch good" /> call <i class="swatch bad" />{" "}
      failed <i class="swatch wait" /> waits for people <i class="swatch" /> node
    </span>
  );
}

interface Seen extends Placed {
  readonly view: { readonly left: number; readonly seen: number };
}

function Sections({ sections, scale, width, view }: Seen & Pick<TimelineContent, "sections">) {
  return (
    <div class="timeline-sections">
      {sections.map(({ label, hasFailed, from, to }) => {
        const left = scale.at(from) * width;
        const size = Math.max(2, scale.at(to) * width - left);
        if (left + size < view.left || left > view.left + view.seen) return null;
        return (
          <span
            key={label}
            class={hasFailed ? "bad" : ""}
            title={label}
            style={{ left: `${left}px`, width: `${size}px` }}
          >
            {label}
          </span>
        );
      })}
    </div>
  );
}

/** Spans that are drawn shorter than they were. */
function Gaps({ scale, width }: Placed) {
  return (
    <>
      {scale.gaps.map(({ from, to }) => {
        const left = scale.at(from) * width;
        return (
          <span
            key={from}
            class="timeline-gap"
            title={`${formatDuration(to - from)} without activity`}
            style={{ left: `${left}px`, width: `${scale.at(to) * width - left}px` }}
          />
        );
      })}
    </>
  );
}

function Ticks({ scale, width, view }: Seen) {
  const marks = marksInSight({
    scale,
    width,
    from: view.left - view.seen,
    to: view.left + 2 * view.seen,
  });
  return (
    <div class="timeline-ticks number" aria-hidden="true">
      {marks.map(({ ms, left }) => (
        <span key={ms} style={{ left: `${left}px` }}>
          {formatDuration(ms)}
        </span>
      ))}
    </div>
  );
}
