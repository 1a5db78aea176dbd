/**
 * What yielding to the event loop costs: CPU time of a reasoning step on a model and a tool that answer at once, with
 * turns of the event loop and with microtasks in their place. Each pair of turns runs in one process, in changing order.
 *
 *   npm run bench:yields -- [--steps 200] [--pairs 60]
 */
import { parseArgs } from "node:util";
import { InstantModel } from "./helpers/instant-model.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    steps: { type: "string", default: "200" },
    pairs: { type: "string", default: "60" },
  },
});
const steps = Number(options.steps);

const { setImmediate: turn } = globalThis;
let yields = true;
let turns = 0;
// src/event-loop.ts takes what it finds when it is loaded.
globalThis.setImmediate = ((run: () => void) => {
  if (!yields) return queueMicrotask(run);
  turns += 1;
  return turn(run);
}) as typeof setImmediate;
const { stratagraph, stratagraphWorkflow } = await import("./helpers/loops.ts");
globalThis.setImmediate = turn;

/** Microseconds of CPU time a step. */
async function cpuOfStep(loop: typeof stratagraph, withYields: boolean): Promise<number> {
  const run = await loop(new InstantModel(steps));
  yields = withYields;
  globalThis.gc?.();
  await new Promise((resolve) => turn(resolve));
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / steps;
}

for (const [name, loop] of Object.entries({ stratagraph, workflow: stratagraphWorkflow })) {
  for (const withYields of [true, false, true, false]) await cpuOfStep(loop, withYields);
  turns = 0;
  const on: number[] = [];
  const off: number[] = [];
  for (let pair = 0; pair < Number(options.pairs); pair += 1) {
    for (const withYields of pair % 2 === 0 ? [true, false] : [false, true]) {
      (withYields ? on : off).push(await cpuOfStep(loop, withYields));
    }
  }
  const each = turns / on.length / steps;
  const shares = on.map((cpu, pair) => 100 * (cpu / (off[pair] ?? Number.NaN) - 1));
  const sorted = shares.toSorted((a, b) => a - b);
  const quartile = (share: number) => sorted[Math.floor(share * sorted.length)]?.toFixed(2);
  console.log(
    `${name}: ${median(on).toFixed(0)} µs a step with ${each.toFixed(1)} turns, ${median(off).toFixed(0)} without; ` +
      `${median(shares).toFixed(2)} % more (quartiles ${quartile(0.25)} to ${quartile(0.75)})`,
  );
}

const count = 200_000;
const { yieldToEventLoop } = await import("../src/event-loop.ts");
yields = true;
const start = process.cpuUsage();
for (let waited = 0; waited < count; waited += 1) await yieldToEventLoop();
const { user, system } = process.cpuUsage(start);
console.log(`one turn of an idle event loop: ${((user + system) / count).toFixed(2)} µs`);
