import { readFileSync } from "node:fs";
import { join } from "node:path";
import { piiEntities, type PiiEntity } from "../../src/definition/schema/guardrails.ts";
import { findPersonalData } from "../../src/guardrails/pii/pii-rail.ts";
import type { RailSpan } from "../../src/definition/rail.ts";
import { scoreText } from "../../src/guardrails/toxicity/lexicon.ts";
import { median } from "../helpers/median.ts";
import type { RailFigures } from "./rail-figures.ts";

/** The data's names for what the rail finds; it has no passports and no keys. */
const entityOf: Readonly<Record<string, PiiEntity>> = {
  EMAIL_ADDRESS: "EMAIL",
  PHONE_NUMBER: "PHONE",
  CREDIT_CARD: "CARD",
  IBAN_CODE: "IBAN",
  US_SSN: "SSN",
  IP_ADDRESS: "IP",
};

interface MarkedText {
  readonly full_text: string;
  readonly spans: readonly {
    readonly entity_type: string;
    readonly start_position: number;
    readonly end_position: number;
  }[];
}

interface Request {
  readonly source: string;
  readonly text: string;
  readonly label: 0 | 1;
}

const toxicFrom = 0.5;

/**
 * Personal data by entity, on marked texts, and false alarms of it and of toxicity on ordinary requests. A marked place
 * counts as found where a finding of its label overlaps it; a finding is right where it overlaps a marked place of its
 * label. `half` takes every second text: the rules were made on the even ones (the first is 0).
 *
 * @param dataFolder with `pii.jsonl` and `injection.jsonl`
 */
export async function benchPii(
  dataFolder: string,
  { half = "all" }: { readonly half?: "all" | "even" | "odd" } = {},
): Promise<readonly RailFigures[]> {
  const texts = (readLines(join(dataFolder, "pii.jsonl")) as readonly MarkedText[]).filter(
    (_, at) => half === "all" || at % 2 === (half === "even" ? 0 : 1),
  );
  const ordinary = (readLines(join(dataFolder, "injection.jsonl")) as readonly Request[]).filter(
    ({ source, label }) => source === "clinc-benign" && label === 0,
  );
  const { found, msPerText } = measured(texts, ({ full_text }) =>
    findPersonalData(full_text, piiEntities),
  );
  const alarms = ordinary.map(({ text }) => findPersonalData(text, piiEntities));
  const toxicity = measured(ordinary, ({ text }) => scoreText(text));
  return [
    ...piiEntities.map((entity) => ({
      rail: "pii",
      label: entity,
      ...countsOf(entity, texts, found),
      msPerText,
      falseAlarms: shareOf(alarms, (spans) => spans.some(({ label }) => label === entity)),
    })),
    {
      rail: "pii",
      label: "any",
      ...countsOf(null, texts, found),
      msPerText,
      falseAlarms: shareOf(alarms, (spans) => spans.length > 0),
    },
    {
      rail: "toxicity",
      label: "TOXIC",
      cases: 0,
      precision: null,
      recall: null,
      f1: null,
      msPerText: toxicity.msPerText,
      falseAlarms: shareOf(toxicity.found, ({ score }) => score >= toxicFrom),
    },
  ];
}

function readLines(file: string): readonly unknown[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** Each text three times, the middle one counts; the libraries are loaded before. */
function measured<Text, Found>(
  texts: readonly Text[],
  find: (text: Text) => Found,
): { readonly found: readonly Found[]; readonly msPerText: number } {
  const found = texts.map(find);
  const times = texts.map((text) =>
    median(
      [1, 2, 3].map(() => {
        const begun = performance.now();
        find(text);
        return performance.now() - begun;
      }),
    ),
  );
  return { found, msPerText: median(times) };
}

/** `entity` null counts all of them together, each by its own label. */
function countsOf(
  entity: PiiEntity | null,
  texts: readonly MarkedText[],
  found: readonly (readonly RailSpan[])[],
): Pick<RailFigures, "cases" | "precision" | "recall" | "f1"> {
  let [cases, hits, findings, right] = [0, 0, 0, 0];
  for (const [at, { spans }] of texts.entries()) {
    const isAsked = (label: string | undefined) =>
      label !== undefined && (entity === null || label === entity);
    const marked = spans
      .map((span) => ({
        start: span.start_position,
        end: span.end_position,
        label: entityOf[span.entity_type],
      }))
      .filter(({ label }) => isAsked(label));
    const claimed = (found[at] ?? []).filter(({ label }) => isAsked(label));
    cases += marked.length;
    findings += claimed.length;
    hits += marked.filter((mark) => claimed.some((claim) => isSame(mark, claim))).length;
    right += claimed.filter((claim) => marked.some((mark) => isSame(mark, claim))).length;
  }
  const precision = findings === 0 ? null : right / findings;
  const recall = cases === 0 ? null : hits / cases;
  const isCounted = precision !== null && recall !== null && precision + recall > 0;
  return {
    cases,
    precision: cases === 0 ? null : precision,
    recall,
    f1: isCounted ? (2 * precision * recall) / (precision + recall) : null,
  };
}

interface Labelled {
  readonly start: number;
  readonly end: number;
  readonly label: string | undefined;
}

function isSame(one: Labelled, other: Labelled): boolean {
  return one.label === other.label && one.start < other.end && other.start < one.end;
}

function shareOf<Item>(items: readonly Item[], isCounted: (item: Item) => boolean): number {
  return items.length === 0 ? 0 : items.filter(isCounted).length / items.length;
}
