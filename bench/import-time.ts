/**
 * Time to import the built package against `@langchain/langgraph` alone, each in a new process.
 *
 *   npm run build && npx tsx bench/import-time.ts [--repeats 15]
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({ options: { repeats: { type: "string", default: "15" } } });

function importTime(specifier: string): number {
  const script = `const t = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - t);`;
  const args = ["--input-type=module", "-e", script];
  return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

const built = new URL("../dist/src/index.js", import.meta.url).href;
const times = { langgraph: [] as number[], stratagraph: [] as number[] };
for (let round = -2; round < Number(options.repeats); round += 1) {
  const peer = importTime("@langchain/langgraph");
  const ours = importTime(built);
  if (round < 0) continue;
  times.langgraph.push(peer);
  times.stratagraph.push(ours);
}
const [peer, ours] = [median(times.langgraph), median(times.stratagraph)];
console.log(`@langchain/langgraph ${peer.toFixed(0)} ms`);
console.log(`stratagraph          ${ours.toFixed(0)} ms   ${(ours / peer).toFixed(2)} x`);
