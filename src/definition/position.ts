import type { Document, LineCounter, ParsedNode } from "yaml";
import type { DefinitionPath, DefinitionProblem } from "./problems.ts";

type Pairs = ReadonlyMap<string, number>;

/** Finds the 1-based places of problems in a YAML document. */
export class PositionFinder {
  /** Offsets of the keys of each map that was asked for. */
  private readonly keys = new WeakMap<object, Pairs>();

  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
  ) {}

  /** Its key for an unknown key, its value otherwise; where there is none, the nearest part of its path. */
  of({ path, message }: DefinitionProblem): { line: number; column: number } {
    const key = message === "unknown key" ? this.keyOffset(path) : undefined;
    return this.at(key ?? this.nearestOffset(path));
  }

  at(offset: number): { line: number; column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  private nearestOffset(path: DefinitionPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const part = path.slice(0, length);
      const node = this.document.getIn(part, true) as Partial<ParsedNode> | undefined;
      const offset = node?.range?.[0] ?? this.keyOffset(part);
      if (offset !== undefined) return offset;
    }
    return this.document.contents?.range?.[0] ?? 0;
  }

  private keyOffset(path: DefinitionPath): number | undefined {
    const parent =
      path.length === 1 ? this.document.contents : this.document.getIn(path.slice(0, -1), true);
    if (typeof parent !== "object" || parent === null) return undefined;
    const keys = this.keys.get(parent) ?? readKeys(parent);
    this.keys.set(parent, keys);
    return keys.get(String(path.at(-1)));
  }
}

function readKeys(map: {
  items?: readonly { key?: { value?: unknown; range?: [number, number, number] } | null }[];
}): Pairs {
  const keys = new Map<string, number>();
  for (const { key } of map.items ?? []) {
    if (key?.range) keys.set(String(key.value), key.range[0]);
  }
  return keys;
}
