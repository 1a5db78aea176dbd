/**
 * How well rails find what they look for, on public data: precision, recall, time, and false alarms on ordinary requests.
 * Injection by cross-validation, since the shipped weights were learned from all of the data.
 *
 * npx tsx bench/rails.ts [--data ../shared/data/rails] [--folds 3] [--only injection,pii] [--quick]
 *
 * Some three minutes; `--quick` leaves no source out.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { percent, printTable } from "./helpers/table.ts";
import { benchInjection } from "./rails/injection.ts";
import { benchPii } from "./rails/pii.ts";
import type { RailFigures } from "./rails/rail-figures.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data/rails" },
    folds: { type: "string", default: "3" },
    only: { type: "string", default: "injection,pii" },
    quick: { type: "boolean", default: false },
  },
});
const parts = new Set(options.only.split(","));

if (existsSync(join(options.data, "injection.jsonl"))) {
  const figures: RailFigures[] = [];
  if (parts.has("injection")) {
    const folds = Number(options.folds);
    figures.push(await benchInjection(options.data, { folds, leaveOut: !options.quick }));
    console.log("");
  }
  if (parts.has("pii")) figures.push(...(await benchPii(options.data)));
  printTable(
    ["rail", "cases", "precision", "recall", "F1", "ms a text", "false alarms"],
    figures.map(row),
  );
} else {
  console.log(`No injection.jsonl in ${options.data}: pass the folder of the data with --data.`);
}

function row(figures: RailFigures): string[] {
  const { rail, label, cases, precision, recall, f1, msPerText, falseAlarms } = figures;
  return [
    `${rail} ${label}`,
    String(cases),
    ...[precision, recall, f1].map(shareOrNone),
    msPerText.toFixed(3),
    shareOrNone(falseAlarms),
  ];
}

function shareOrNone(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : percent(value);
}
