import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

/** A point that a plot can be asked about. */
export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Key of the run that it is of. */
  readonly run: string;
  readonly tip: () => readonly string[];
}

/** What a plot draws. */
export interface Drawing {
  readonly height: number;
  /** Points by line, which the pointer and the arrow keys find. */
  readonly lines: readonly (readonly PlotPoint[])[];
  readonly content: ComponentChildren;
  /** Drawn over the content for the run that is pointed at. */
  readonly stress?: (run: string) => ComponentChildren;
}

interface PlotProps {
  readonly title: string;
  readonly unit: string;
  /** Names the drawing for screen readers. */
  readonly label: string;
  readonly description: string;
  /** Returns the drawing for a width in pixels. The same function is not called again for the same width. */
  readonly draw: (width: number) => Drawing;
}

/** Pixels from the pointer within which a point is found. */
const reach = 60;

/** A plot that is drawn as wide as there is room. The pointer and the arrow keys show the figures of its points. */
export function Plot({ title, unit, label, description, draw }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const drawn = useMemo(() => (width === 0 ? null : draw(width)), [draw, width]);
  const lines = drawn?.lines ?? [];
  const point = at === null ? undefined : lines[at[0]]?.[at[1]];
  const move = (event: KeyboardEvent) => {
    const step = keys[event.key];
    if (event.key === "Escape") return setAt(null);
    if (step === undefined || lines.length === 0) return undefined;
    event.preventDefault();
    const [line, index] = at ?? [0, step[1] > 0 ? -1 : 0];
    const toLine = bounded(line + step[0], lines.length);
    return setAt([toLine, bounded(index + step[1], lines[toLine]?.length ?? 0)]);
  };
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        <span class="faint">{unit}</span>
      </figcaption>
      <div
        class="plot"
        ref={place}
        tabIndex={0}
        role="group"
        aria-label={`${label}. Arrow keys read its points.`}
        onKeyDown={move}
        onBlur={() => setAt(null)}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt(nearest(lines, event.clientX - box.left, event.clientY - box.top));
        }}
        onPointerLeave={() => setAt(null)}
      >
        {drawn !== null && (
          <svg
            role="img"
            aria-label={label}
            aria-description={description}
            width={width}
            height={drawn.height}
          >
            {drawn.content}
            {point !== undefined && (
              <>
                {drawn.stress?.(point.run)}
                <circle class="pointed-at" cx={point.x} cy={point.y} r={4.5} />
              </>
            )}
          </svg>
        )}
        <div
          class={`plot-tip${point === undefined ? " visually-hidden" : ""}`}
          role="status"
          style={point === undefined ? {} : tipPlace(point, width)}
        >
          {point?.tip().map((text, index) => (
            <span key={index}>{text}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

/** Lines and points that a key goes on. */
const keys: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
};

function bounded(index: number, count: number): number {
  return Math.min(Math.max(0, index), Math.max(0, count - 1));
}

function tipPlace({ x, y }: PlotPoint, width: number) {
  const isLeft = x > width / 2;
  return {
    top: `${y + 8}px`,
    ...(isLeft ? { right: `${width - x + 8}px` } : { left: `${x + 8}px` }),
  };
}

function nearest(
  lines: readonly (readonly PlotPoint[])[],
  x: number,
  y: number,
): readonly [number, number] | null {
  let found: readonly [number, number] | null = null;
  let least = reach ** 2;
  lines.forEach((line, lineIndex) => {
    line.forEach((point, index) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance >= least) return;
      least = distance;
      found = [lineIndex, index];
    });
  });
  return found;
}

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, Math.max(1, length - 1))}…` : text;
}
