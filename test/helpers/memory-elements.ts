import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { freezeElement } from "../../checkpointers/elements/freeze.ts";
import {
  type ValueLayout,
  segmentsOf,
  type StoredValue,
  toStoredValue,
} from "../../checkpointers/elements/store-value.ts";
import { loadValue, type LoadPort } from "../../checkpointers/elements/load-value.ts";
import type { EncodedUnit, LogTail } from "../../checkpointers/elements/sequence.ts";
import { keepData, type DataSerializer } from "../../checkpointers/elements/revive.ts";
import {
  elementHash,
  type DumpedValue,
  type StorePort,
} from "../../checkpointers/elements/store-value.ts";

/** Logs of elements in memory. */
export class MemoryElements implements StorePort {
  readonly logs = new Map<number, Map<number, EncodedUnit>>();
  /** Bytes that were written since it was last set. */
  written = 0;
  readonly freeze: (item: object) => boolean;
  readonly #serde: DataSerializer;
  #heap: LogTail | null = null;

  constructor(options: { freeze?: (item: object) => boolean; serde?: SerializerProtocol } = {}) {
    this.freeze = options.freeze ?? freezeElement;
    this.#serde = keepData(options.serde);
  }

  async dump(value: unknown): Promise<DumpedValue> {
    const [type, blob] = await this.#serde.dumpsTyped(value);
    return { type: type === "json" ? null : type, blob };
  }

  append(tail: LogTail, unit: EncodedUnit): void {
    const log = this.logs.get(tail.log)!;
    if (log.has(tail.next)) throw new Error(`element ${tail.next} of log ${tail.log} is taken`);
    log.set(tail.next, unit);
    this.written += unit.blob.byteLength;
    tail.next += 1;
  }

  openTail(tail: LogTail | null): LogTail {
    if (tail !== null) return tail;
    const log = this.logs.size + 1;
    this.logs.set(log, new Map());
    return { log, next: 0, closed: false };
  }

  openScalarLog(): LogTail {
    return (this.#heap = this.openTail(this.#heap));
  }

  get elements(): number {
    return [...this.logs.values()].reduce((sum, log) => sum + log.size, 0);
  }

  /** As another process would read it. */
  async read(image: ValueLayout): Promise<ValueLayout> {
    const stored = JSON.parse(JSON.stringify(toStoredValue(image))) as StoredValue;
    const segments = segmentsOf(image).map((segment) => ({ ...segment }));
    const { revive } = this.#serde;
    const port: LoadPort = {
      element: (log, idx) => {
        const element = this.logs.get(log)?.get(idx);
        if (element === undefined) return undefined;
        const { type } = element;
        const blob = Buffer.from(element.blob);
        return { type, blob, hash: elementHash({ type, blob }) };
      },
      revive: (type, blob) => revive(type ?? "json", blob),
      reviveUnit: (element) => revive(element.type ?? "json", element.blob) as never,
      freeze: this.freeze,
      tailOf: () => null,
    };
    return loadValue(stored, segments, port);
  }
}
