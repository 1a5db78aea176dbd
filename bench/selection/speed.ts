import { createWordEmbeddings } from "../../src/models/embeddings/word-embeddings.ts";
import { selectTools } from "../../src/tools/selection/select-tools.ts";
import { median } from "../helpers/median.ts";
import type { SelectionSet } from "./sets.ts";

/** Requests that are timed. */
const timed = 100;

/** Times of the index, made anew for every repeat, and of a selection once there is one. */
export async function speedRows(set: SelectionSet, repeats: number): Promise<string[][]> {
  const [first] = set.requests;
  const task = first?.query ?? "";
  const index: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const tools = [...set.tools];
    // Embeddings without a cache, so that every vector is made anew.
    const embeddings = createWordEmbeddings();
    index.push(await milliseconds(() => selectTools({ task, tools, embeddings })));
  }
  const { tools } = set;
  const queries: number[] = [];
  for (const { query } of set.requests.slice(0, timed)) {
    const times: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      // Another text each time, so that the task's vectors are not remembered.
      const asked = `${query} ${repeat}`;
      times.push(await milliseconds(() => selectTools({ task: asked, tools })));
    }
    queries.push(median(times));
  }
  return [
    [`index and first selection, ${tools.length.toLocaleString("en")} tools`, ...figures(index)],
    ["a selection", ...figures(queries)],
  ];
}

async function milliseconds(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function figures(times: readonly number[]): string[] {
  return [median(times), Math.max(...times)].map((time) => time.toFixed(1));
}
