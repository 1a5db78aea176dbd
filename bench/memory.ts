/**
 * Searches memories: how much of the evidence for LoCoMo's questions is found, how long a search takes as
 * memories grow, and how much of the evidence fits into a context.
 *
 * npm run bench:memory -- --data PATH [--conversations 1-5] [--only quality|latency|context] [--vectors FILE] [--sizes 1000,10000] [--most-vectors 10000]
 *
 * PATH is `locomo10.json` of https://github.com/snap-research/locomo (CC BY-NC 4.0), or a folder with a file for each conversation.
 */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { cachedEmbeddings, type Embeddings } from "../src/models/embeddings/embeddings.ts";
import {
  createLocalEncoder,
  localEncoderIsInstalled,
} from "../src/models/embeddings/local-encoder.ts";
import { printTable } from "./helpers/table.ts";
import { contextHead, contextRow } from "./memory/context.ts";
import { latencyHead, latencyRow, type StoreKind } from "./memory/latency.ts";
import { readLocomo } from "./memory/locomo.ts";
import { qualityHead, qualityRows } from "./memory/quality.ts";
import { storedEmbeddings } from "./memory/vector-file.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data/locomo10.json" },
    conversations: { type: "string", default: "1-5" },
    only: { type: "string" },
    vectors: { type: "string" },
    sizes: { type: "string", default: "1000,10000,100000" },
    // Adding a vector to an index of a database takes milliseconds.
    "most-vectors": { type: "string", default: "10000" },
    stores: { type: "string", default: "in-memory,pglite,postgres" },
  },
});
const isChosen = (part: string) => options.only === undefined || options.only === part;

function openEncoder(): Embeddings | null {
  if (!localEncoderIsInstalled()) return null;
  const encoder = createLocalEncoder();
  return options.vectors === undefined
    ? cachedEmbeddings(encoder)
    : storedEmbeddings(encoder, options.vectors);
}

if (isChosen("quality") || isChosen("context")) {
  if (existsSync(options.data)) {
    const [first = 1, last = first] = options.conversations.split("-").map(Number);
    const numbers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const conversations = readLocomo(options.data, numbers);
    const asked = conversations.reduce((sum, { questions }) => sum + questions.length, 0);
    console.log(
      `\nLoCoMo, conversations ${options.conversations}: ${asked.toLocaleString("en")} questions with evidence\n`,
    );
    const encoder = openEncoder();
    if (isChosen("quality")) printTable(qualityHead, await qualityRows(conversations, encoder));
    if (isChosen("context")) {
      const rows = [await contextRow("without encoder", conversations, null)];
      if (encoder !== null) rows.push(await contextRow("with encoder", conversations, encoder));
      console.log();
      printTable(contextHead, rows);
    }
  } else {
    console.log(`No ${options.data}: pass LoCoMo with --data. Its part was not measured.`);
  }
}

if (isChosen("latency")) {
  const url = process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test";
  const rows: string[][] = [];
  for (const kind of options.stores.split(",") as StoreKind[]) {
    for (const count of options.sizes.split(",").map(Number)) {
      const row = await latencyRow(kind, count, {
        url,
        mostVectors: Number(options["most-vectors"]),
      });
      if (row === null) continue;
      rows.push(row);
      console.error(row.join("  "));
    }
  }
  console.log();
  printTable(latencyHead, rows);
}
