import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects what nothing holds, weak references included: they are let go of between two tasks. */
export async function collectGarbage(): Promise<void> {
  for (let at = 0; at < 3; at += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
}
