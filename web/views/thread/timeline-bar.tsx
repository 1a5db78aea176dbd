import { formatDuration } from "../../components/format.ts";
import { links } from "../../links.ts";
import type { DrawnBar, TimeScale } from "./time-scale.ts";

export interface Placed {
  readonly scale: TimeScale;
  readonly width: number;
}

interface BarProps extends Placed {
  readonly drawn: DrawnBar;
  readonly id: string;
  readonly threadId: string;
  readonly isTabStop: boolean;
  readonly isSelected: boolean;
  readonly onTell: (drawn: DrawnBar | null) => void;
  readonly onZoom: () => void;
}

/** A bar of the timeline: a link to what it shows, or a button that shows several apart. */
export function BarElement({
  drawn,
  id,
  threadId,
  scale,
  width,
  isTabStop,
  isSelected,
  onTell,
  onZoom,
}: BarProps) {
  const { bars, left, width: wide } = drawn;
  const [first] = bars;
  if (first === undefined) return null;
  const isSingle = bars.length === 1;
  const tone = isSingle ? first.tone : (bars.find((bar) => bar.tone === "bad") ?? first).tone;
  const attributes = {
    class: `bar ${tone}${first.isWaiting && isSingle ? " waiting" : ""}${isSingle ? "" : " several"}`,
    style: { left: `${left}px`, width: `${wide}px` },
    "data-bar": id,
    tabIndex: isTabStop ? 0 : -1,
    "aria-label": describeBar(drawn, scale),
    "aria-current": isSelected ? ("true" as const) : undefined,
    onMouseEnter: () => onTell(drawn),
    onMouseLeave: () => onTell(null),
    onFocus: () => onTell(drawn),
    onBlur: () => onTell(null),
  };
  const content = (
    <>
      {isSingle &&
        wide > 8 &&
        first.parts.map((part, index) => {
          const from = scale.at(part.from) * width - left;
          const size = Math.max(1, scale.at(part.to) * width - left - from);
          const style = {
            left: `${from}px`,
            width: `${Math.min(size, wide - from)}px`,
            top: `${(part.row / part.rows) * 100}%`,
            height: `${100 / part.rows}%`,
          };
          return <i key={index} class={`bar-part ${part.kind} ${part.tone}`} style={style} />;
        })}
      {wide > 56 && <span class="truncate">{isSingle ? first.label : `${bars.length} bars`}</span>}
    </>
  );
  if (!isSingle)
    return (
      <button type="button" {...attributes} onClick={onZoom}>
        {content}
      </button>
    );
  const { step, namespace } = first;
  const href =
    step !== null || namespace !== ""
      ? links.thread(threadId, { step, namespace })
      : links.graph(threadId, { at: first.id });
  return (
    <a {...attributes} href={href}>
      {content}
    </a>
  );
}

/** What a bar is and how long it took, in words. */
export function describeBar({ bars }: DrawnBar, scale: TimeScale): string {
  const [first] = bars;
  if (first === undefined) return "";
  const from = Math.min(...bars.map((bar) => bar.from));
  const to = Math.max(...bars.map((bar) => bar.to));
  const when = `from ${formatDuration(from - scale.from)}, ${formatDuration(to - from)}`;
  if (bars.length > 1) return `${bars.length} executions close together, ${when}. Enter zooms in.`;
  const parts = first.parts.map(
    (part) =>
      `${part.label} ${formatDuration(part.to - part.from)}${part.tone === "bad" ? " failed" : ""}`,
  );
  const step = first.step === null ? "" : `, step ${first.step}`;
  const waits = first.isWaiting ? ", waiting for people included" : "";
  return `${first.label}${step}: ${when}${waits}${parts.length === 0 ? "" : ` — ${parts.slice(0, 6).join(", ")}`}`;
}
