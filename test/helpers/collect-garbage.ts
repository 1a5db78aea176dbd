import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects unreachable objects. A `WeakRef` keeps its target until a task ends, so each pass begins in a new one. */
export async function collectGarbage(): Promise<void> {
  for (let at = 0; at < 3; at += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
}

/** Bytes of the heap that are reachable. */
export async function heapInUse(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}
