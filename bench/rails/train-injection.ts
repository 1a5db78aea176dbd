/**
 * Learns the weights of the injection rail from public data, and writes them where the package reads them. The same data
 * gives the same weights.
 *
 * npx tsx bench/rails/train-injection.ts [--data ../shared/data/rails]
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { buckets } from "../../src/guardrails/injection/words.ts";
import { foreignFeatureNames, namedFeatures } from "../../src/guardrails/injection/features.ts";
import {
  doubtOf,
  type InjectionModels,
  type LinearModel,
  restoreModels,
  storeModels,
  valueOf,
} from "../../src/guardrails/injection/score-text.ts";
import { foldOf, isDocument, type LabelledText, readInjectionData } from "./injection-data.ts";
import { isPlantedAt, planted } from "./injection-planting.ts";
import { seenIn } from "./injection-reading.ts";
import { type Fit, fitLogistic, type Instance } from "./logistic.ts";

/** Signs that the public texts seldom show begin with what people hold them to be worth; the data move them from there. */
const beliefs: Readonly<Record<string, number>> = {
  "drops what it was told": 2,
  "drops an ordinary thing": -1,
  override: 1,
  "override first": 1,
  unbound: 1.5,
  "leaks the prompt": 2.5,
  "asks for its prompt": 3.5,
  "chat markup": 7.5,
  "system prompt": 1,
  "fake role": 1.5,
  mode: 1.5,
  fence: 1.5,
  "tool call": 4,
  "speaks to a model": 1,
  "sends away": 0.5,
  "address that carries data": 4.5,
  "keeps it from people": 1.5,
  "hidden characters": 2,
  "look-alikes": 2,
  "digits for letters": 1.5,
  "spaced letters": 3,
  "was encoded": 2.5,
};
const foreignBeliefs: Readonly<Record<string, number>> = {
  "changes the answer": 2,
  "your answer": 1,
  "says how to answer": 1,
  cipher: 1,
  "task of words": 1,
  "request at the end": 1,
  "request after the farewell": 1,
  "share of other requests": -2,
  "code or data": -1,
};
const overrideFit: Fit = {
  epochs: 10,
  hashes: buckets,
  hashedDecay: 4e-5,
  namedDecay: 1e-5,
  prior: priorOf(namedFeatures, beliefs, buckets),
};
const foreignFit: Fit = {
  epochs: 30,
  hashes: 0,
  hashedDecay: 0,
  namedDecay: 2e-3,
  prior: priorOf(foreignFeatureNames, foreignBeliefs, 0),
};
/** Shares of ordinary texts that may score above 0.5 while the lines are drawn, on texts that were not learned from. */
const allowed = {
  /** Of public requests, and of sentences written to look like attacks. */
  requests: 0.012,
  lookalikes: 0.1,
  /** Of documents, by each of both models. */
  overrideInDocuments: 0.005,
  foreignInDocuments: 0.008,
};
const folds = 3;

function priorOf(names: readonly string[], believed: typeof beliefs, from: number): Float32Array {
  const prior = new Float32Array(from + names.length);
  names.forEach((name, index) => {
    prior[from + index] = believed[name] ?? 0;
  });
  return prior;
}

/** Learns from texts; each bias puts the score 0.5 where few of those held out are false alarms. */
export function trainInjection(texts: readonly LabelledText[]): InjectionModels {
  const { override, overrideInData } = trainOverride(texts);
  const models = { override, overrideInData, foreign: trainForeign(texts) };
  return restoreModels(storeModels(models));
}

function trainOverride(
  texts: readonly LabelledText[],
): Pick<InjectionModels, "override" | "overrideInData"> {
  // BIPIA's attacks change nothing that was told; they are for the other model.
  const chosen = texts.filter(({ source }) => !source.startsWith("bipia"));
  const alarms = {
    requests: [] as number[],
    lookalikes: [] as number[],
    documents: [] as number[],
  };
  for (let fold = 0; fold < folds; fold += 1) {
    const model = learnOverride(chosen.filter(({ group }) => foldOf(group, folds) !== fold));
    for (const text of chosen) {
      if (foldOf(text.group, folds) !== fold || text.label === 1) continue;
      if (text.source === "tau-tools") continue;
      const written = /^own |^templates$/.test(text.source);
      const kind = isDocument(text) ? "documents" : written ? "lookalikes" : "requests";
      const values = seenIn(text.text).windows.map(({ features }) => valueOf(features, model));
      const doubt = kind === "documents" ? doubtOf(seenIn(text.text).read) : 0;
      alarms[kind].push(Math.max(-20, ...values) - doubt);
    }
  }
  const { weights, bias } = learnOverride(chosen);
  const cut = Math.max(
    highestButFor(alarms.requests, allowed.requests),
    highestButFor(alarms.lookalikes, allowed.lookalikes),
  );
  const cutInData = highestButFor(alarms.documents, allowed.overrideInDocuments);
  return {
    override: { weights, bias: bias - cut },
    overrideInData: Math.min(0, cut - cutInData),
  };
}

/**
 * Multiple instances (Andrews et al. 2003, mi-SVM's scheme on logistic regression): an attack is somewhere in its text, so
 * that the window that looks most like one is learned as one; of an ordinary text every window is ordinary.
 */
function learnOverride(texts: readonly LabelledText[]): LinearModel {
  const windowsOf = ({ text }: LabelledText) => seenIn(text).windows;
  const negatives = texts
    .filter(({ label }) => label === 0)
    .flatMap((text) => {
      const windows = windowsOf(text);
      return windows.map(({ features }) => instance(features, 0, Math.min(1, 8 / windows.length)));
    });
  const attacks = texts.filter(({ label }) => label === 1).map(windowsOf);
  let positives = attacks.flatMap((windows) =>
    windows.map(({ features }) => instance(features, 1, 1 / windows.length)),
  );
  let model = fitLogistic(negatives.concat(positives), overrideFit);
  for (let round = 0; round < 2; round += 1) {
    const current = model;
    positives = attacks.flatMap((windows) =>
      windows
        .toSorted((a, b) => valueOf(b.features, current) - valueOf(a.features, current))
        .slice(0, windows.length > 12 ? 2 : 1)
        .map(({ features }) => instance(features, 1, 1.5)),
    );
    model = fitLogistic(negatives.concat(positives), overrideFit);
  }
  return model;
}

/** Learns requests that stand in documents, from BIPIA and from requests that are put into documents here. */
export function trainForeign(texts: readonly LabelledText[]): LinearModel {
  const documents = texts.filter((text) => isDocument(text) && text.label === 0);
  const values: number[] = [];
  const foldName = ({ body, group }: LabelledText) => body ?? group;
  for (let fold = 0; fold < folds; fold += 1) {
    const model = learnForeign(texts.filter((text) => foldOf(foldName(text), folds) !== fold));
    for (const text of documents) {
      if (foldOf(foldName(text), folds) !== fold || text.source === "tau-tools") continue;
      const found = seenIn(text.text).candidates.map(({ features }) => valueOf(features, model));
      values.push(Math.max(-20, ...found) - doubtOf(seenIn(text.text).read));
    }
  }
  const { weights, bias } = learnForeign(texts);
  return { weights, bias: bias - highestButFor(values, allowed.foreignInDocuments) };
}

function learnForeign(texts: readonly LabelledText[]): LinearModel {
  const documents = texts.filter((text) => isDocument(text) && text.label === 0);
  const requests = texts.filter(
    ({ source, label, text }, index) =>
      (source === "deepset" && label === 0) ||
      (source === "templates" &&
        /^(?:Please )?(?:Translate|Give|Write|Format|Put|Keep|Make)\b/.test(text)) ||
      (/^(?:metatool|seal|clinc)/.test(source) && index % 4 === 0),
  );
  const attacks = texts
    .filter(({ source }) => source === "bipia-indirect")
    .concat(planted(requests, documents, 11));
  const negatives = documents.flatMap(({ text, source }) => {
    const { candidates } = seenIn(text);
    const most = source === "bipia-clean" ? 4 : 2;
    return candidates.map(({ features }) =>
      instance(features, 0, Math.min(1, most / candidates.length)),
    );
  });
  const positives = attacks.flatMap((attack) => {
    const { read, candidates } = seenIn(attack.text);
    const own = candidates.filter(({ sentence }) => {
      const place = read.sentences[sentence];
      return place !== undefined && isPlantedAt(place, attack);
    });
    return own.map(({ features }) => instance(features, 1, 1 / own.length));
  });
  return fitLogistic(negatives.concat(positives), foreignFit);
}

function highestButFor(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => b - a)[Math.floor(values.length * share)] ?? 0;
}

function instance(features: Instance["features"], label: 0 | 1, weight: number): Instance {
  return { features, label, weight };
}

function main(): void {
  const { values: options } = parseArgs({
    options: { data: { type: "string", default: "../shared/data/rails" } },
  });
  const texts = readInjectionData(options.data);
  const file = new URL("../../src/guardrails/injection/weights.json", import.meta.url);
  writeFileSync(file, `${JSON.stringify(storeModels(trainInjection(texts)), null, 2)}\n`);
  console.log(`Learned from ${texts.length} texts; wrote ${file.pathname}.`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
