import { headOf } from "../../state/cut-text.ts";

/** How much of a value a preview shows. */
export interface PreviewOptions {
  /** Characters of a string that are shown. @default 300 */
  readonly maxChars?: number;
  /** Items of a list, rows of a table in a text. @default 3 */
  readonly maxItems?: number;
  /** Levels of nesting. @default 6 */
  readonly maxDepth?: number;
  /** Keys of an object. @default 30 */
  readonly maxKeys?: number;
}

/** A value bounded in size that keeps the shape of JSON. */
export function preview(value: unknown, options: PreviewOptions = {}): unknown {
  const { maxChars = 300, maxItems = 3, maxDepth = 6, maxKeys = 30 } = options;
  const show = (one: unknown, depth: number): unknown => {
    if (typeof one === "string") {
      if (one.length <= maxChars) return one;
      const head = headOf(one, Math.ceil(maxChars / 2));
      const tail = one.slice(one.length - Math.floor(maxChars / 2)).replace(/^[\udc00-\udfff]/, "");
      const missing = one.length - head.length - tail.length;
      return `${head}… [truncated, ${missing.toLocaleString("en")} chars]${tail}`;
    }
    if (typeof one !== "object" || one === null) return one;
    if (Array.isArray(one)) {
      if (depth >= maxDepth) return `[list of ${one.length}]`;
      const shown = one.slice(0, maxItems).map((item) => show(item, depth + 1));
      const more = one.length - shown.length;
      return more > 0 ? [...shown, `… ${more.toLocaleString("en")} more items`] : shown;
    }
    const entries = Object.entries(one);
    if (depth >= maxDepth) return `[object with ${entries.length} keys]`;
    const shown = entries.slice(0, maxKeys).map(([key, own]) => [key, show(own, depth + 1)]);
    const more = entries.length - shown.length;
    return Object.fromEntries(more > 0 ? [...shown, ["…", `${more} more keys`]] : shown);
  };
  return show(value, 0);
}
