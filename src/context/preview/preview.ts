import { figure } from "./cut-middle.ts";
import { StringPreviews } from "./preview-string.ts";
import { PreviewWalk, type PreviewLimits } from "./preview-walk.ts";

/** How much of a value a preview shows. Figures below 0 count as 0, what is no number as the default. */
export interface PreviewOptions {
  /** Characters of a string that are shown. A longer one by less than the mark that says so stays whole. @default 300 */
  readonly maxChars?: number;
  /** Items of a list, rows of a table in a text, links of a page. @default 3 */
  readonly maxItems?: number;
  /** Levels of nesting; at most 100. @default 6 */
  readonly maxDepth?: number;
  /** Keys of an object. @default 30 */
  readonly maxKeys?: number;
  /** Characters of the preview's JSON; at least 100. @default 10 times `maxChars`, and at least 1,000 */
  readonly maxTotal?: number;
}

/**
 * A value cut down so that a model can see what is there, in the shape it has: the first items of a list and how many
 * more there are, the head and the tail of a text. Texts are shown by their kind: JSON as its value, pages without tags,
 * tables by their first rows, encoded bytes by name only. A value that is small enough is returned as it is.
 *
 * The preview is a value of JSON, whose text has at most `maxTotal` characters: where the other options would give
 * more, they are lowered together until it fits. Never throws, and never reads a long list or text whole.
 * @example preview({ rows: [1, 2, 3, 4, 5] }) // { rows: [1, 2, 3, "… 2 more items"] }
 */
export function preview(value: unknown, options: PreviewOptions = {}): unknown {
  const maxChars = whole(options.maxChars, 300);
  const maxTotal = Math.max(100, whole(options.maxTotal, Math.max(1000, 10 * maxChars)));
  const strings = new StringPreviews();
  let limits: PreviewLimits | null = {
    maxChars,
    maxItems: whole(options.maxItems, 3),
    maxDepth: Math.min(100, whole(options.maxDepth, 6)),
    maxKeys: whole(options.maxKeys, 30),
  };
  while (limits !== null) {
    const walk = new PreviewWalk(limits, strings, maxTotal);
    const shown = walk.show(value, 0);
    if (walk.fits) return shown;
    limits = coarser(limits);
  }
  return typeof value === "string"
    ? `[text, ${figure(value.length)} chars]`
    : "[too large to show]";
}

/** Null where there is no less to show. */
function coarser({ maxChars, maxItems, maxDepth, maxKeys }: PreviewLimits): PreviewLimits | null {
  if (maxChars === 0 && maxDepth === 0) return null;
  return {
    maxChars: Math.floor(maxChars / 2),
    maxItems: maxItems > 3 ? Math.ceil(maxItems / 2) : maxItems,
    maxDepth: Math.max(0, Math.min(maxDepth - 1, 10)),
    maxKeys: maxKeys > 8 ? Math.ceil(maxKeys * 0.6) : maxKeys,
  };
}

function whole(option: number | undefined, usual: number): number {
  if (option === undefined || Number.isNaN(option)) return usual;
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(option)));
}
