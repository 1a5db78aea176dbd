/**
 * Selects tools for published requests whose right tools are known, beside BM25 alone and embeddings alone.
 *
 * npx tsx bench/selection.ts [--data ../shared/data/tools] [--only metatool|seal] [--repeats 5]
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printTable } from "./helpers/table.ts";
import { recallRows } from "./selection/recall.ts";
import { readSet, selectionSets } from "./selection/sets.ts";
import { speedRows } from "./selection/speed.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data/tools" },
    only: { type: "string" },
    repeats: { type: "string", default: "5" },
  },
});

const chosen = selectionSets.filter(
  ({ name }) => options.only === undefined || options.only === name,
);
const missing = chosen
  .flatMap(({ tools, requests }) => [tools, requests])
  .map((file) => join(options.data, file))
  .find((file) => !existsSync(file));

if (missing === undefined) {
  for (const files of chosen) {
    const set = readSet(options.data, files);
    console.log(
      `\n${set.name}: ${set.tools.length.toLocaleString("en")} tools, ${set.requests.length.toLocaleString("en")} requests\n`,
    );
    printTable(
      ["recall, %", "@1", "@5", "@10", "odd @1", "@5", "@10", "even @1", "@5", "@10"],
      await recallRows(set),
    );
    console.log();
    printTable(["ms", "median", "worst"], await speedRows(set, Number(options.repeats)));
  }
} else {
  console.log(`No ${missing}: pass the folder that has it with --data. Nothing was measured.`);
}
