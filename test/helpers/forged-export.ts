import { canonicalHash } from "../../src/values/json.ts";
import { checkpointHash, hashTree, writesHash } from "../../checkpointers/integrity.ts";
import { elementHash } from "../../checkpointers/elements/store-value.ts";
import { fromReadable, type ReadableBytes } from "../../checkpointers/threads/transfer/format.ts";
import { toWriteSets } from "../../checkpointers/writing/pending-writes.ts";
import { sealed } from "./thread-transfer.ts";

/** Lines of an export are hostile here: anything may stand anywhere. */
type Json = any; // eslint-disable-line

/**
 * Lines that were changed, with all hashes in them made to fit, as an attacker would who knows the format. What cannot be
 * hashed stays as it is.
 */
export function forged(lines: readonly string[]): string[] {
  const elements = new Map<string, Buffer>();
  const hashes = new Map<string, string>();
  let threadId: Json = "";
  const content = lines.slice(0, -1).map((text, at) => {
    try {
      const line = JSON.parse(text);
      if (at === 0) threadId = line.threadId;
      if (line.element) {
        const { log, idx, type, value } = line.element;
        elements.set(`${log} ${idx}`, elementHash({ type, blob: fromReadable(value) }));
      } else if (line.definition) {
        line.definition.hash = canonicalHash(line.definition.definition);
      } else if (line.checkpoint) {
        forgeCheckpoint(line.checkpoint);
      }
      return JSON.stringify(line);
    } catch {
      return text;
    }
  });
  return sealed([...content, ""]);

  function forgeCheckpoint(checkpoint: Json): void {
    const { namespace, id, parentId } = checkpoint;
    attempt(() => {
      const body = JSON.parse(fromReadable(checkpoint.body as ReadableBytes).toString());
      const segments = [...checkpoint.segments] as number[];
      for (const value of Object.values(body.values as object)) forgeValue(value, segments);
      if (!("text" in checkpoint.body)) checkpoint.body = { json: body };
    });
    const parent = hashes.get(`${namespace}\n${parentId}`);
    if (parent !== undefined && checkpoint.parentHash) checkpoint.parentHash = parent;
    attempt(() => {
      const { parentHash } = checkpoint;
      const hash = checkpointHash({
        ...checkpoint,
        threadId,
        parentHash: parentHash && Buffer.from(parentHash, "hex"),
        body: fromReadable(checkpoint.body),
      });
      checkpoint.hash = hash.toString("hex");
    });
    hashes.set(`${namespace}\n${id}`, checkpoint.hash);
    for (const set of checkpoint.writeSets as Json[]) {
      attempt(() => {
        const writes = set.writes.map((one: Json) => ({ ...one, blob: fromReadable(one.value) }));
        const [made] = toWriteSets(writes, { replacing: false, taskPath: set.taskPath ?? "" });
        const { taskId, idx } = set;
        const of = { threadId, namespace, checkpointId: id, taskId, idx, body: made!.body };
        set.hash = writesHash(of).toString("hex");
      });
    }
  }

  function forgeValue(stored: Json, segments: number[]): void {
    const units = (count: number) => {
      const taken: Buffer[] = [];
      const own = segments.splice(0, 3 * count);
      for (let at = 0; at < own.length; at += 3) {
        for (let idx = own[at + 1]!; idx < own[at + 2]!; idx += 1)
          taken.push(elements.get(`${own[at]} ${idx}`)!);
      }
      return taken;
    };
    if (stored[0] === "e") stored[1] = units(1)[0]!.toString("base64");
    if (stored[0] !== "l" && stored[0] !== "m") return;
    stored[2] = hashTree(units(stored[1])).root.toString("base64");
    for (const nested of Object.values((stored[4] ?? {}) as object)) forgeValue(nested, segments);
  }
}

function attempt(forge: () => void): void {
  try {
    forge();
  } catch {
    // Nonsense has no hash.
  }
}
