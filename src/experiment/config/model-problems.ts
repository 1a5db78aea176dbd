import {
  type DefinitionPath,
  type DefinitionProblem,
  showFound,
  getAtPath,
} from "../../definition/check/problems.ts";
import { modelRefPattern } from "../../definition/schema/model-ref.ts";
import type { CreateModelsOptions } from "../../models/create-models.ts";
import { UnknownModelError } from "../../models/errors.ts";
import { type ModelProvider, parseModelRef } from "../../models/provider.ts";
import { builtinProviders } from "../../models/providers/index.ts";
import { optionNames, type OptionName } from "./experiment-schema.ts";
import type { MatrixPoint } from "./matrix.ts";

/** The runtime's models, in addition to those of the built-in providers. */
export type ExperimentModels = Pick<CreateModelsOptions, "providers" | "instances">;

/** The name of the provider whose models an `ollama_client_config` is for. */
const ollama = "ollama";

export function isOllama(modelName: string): boolean {
  return modelName.startsWith(`${ollama}:`);
}

interface NamedModel {
  readonly ref: string;
  readonly path: DefinitionPath;
  /** Null where it is no model's name. */
  readonly takes: ModelProvider["options"] | null;
}

/**
 * What is wrong with the models of a config as it was written, and with what they are given.
 *
 * @param points the runs; empty where something is wrong with the matrix
 */
export function modelProblems(
  written: unknown,
  {
    models,
    points,
  }: { readonly models: ExperimentModels; readonly points: readonly MatrixPoint[] },
): readonly DefinitionProblem[] {
  const providers = { ...builtinProviders, ...models.providers };
  const problems: DefinitionProblem[] = [];
  const named = namedModels(written).map(({ ref, path }): NamedModel => {
    const found = findModel(ref, providers, models);
    if ("takes" in found) return { ref, path, takes: found.takes };
    problems.push({ path, ...found });
    return { ref, path, takes: null };
  });
  return [
    ...missing(written),
    ...problems,
    ...named.flatMap((model) => optionProblems(written, model, points)),
    ...ollamaProblems(written, named),
  ];
}

function namedModels(written: unknown): readonly { ref: string; path: DefinitionPath }[] {
  const list = getAtPath(written, ["matrix", "model_name"]);
  return [
    { ref: getAtPath(written, ["model_name"]), path: ["model_name"] },
    ...(Array.isArray(list) ? list : []).map((ref: unknown, index) => {
      return { ref, path: ["matrix", "model_name", index] };
    }),
  ].flatMap(({ ref, path }) => (typeof ref === "string" ? [{ ref, path }] : []));
}

function missing(written: unknown): readonly DefinitionProblem[] {
  const isNamed = [["model_name"], ["matrix", "model_name"]].some(
    (path) => getAtPath(written, path) !== undefined,
  );
  if (isNamed) return [];
  const message = "expected provider:model, here or in matrix.model_name, but it is missing";
  return [{ path: ["model_name"], message }];
}

function findModel(
  ref: string,
  providers: Readonly<Record<string, ModelProvider>>,
  { instances = {} }: ExperimentModels,
): { readonly takes: ModelProvider["options"] } | Omit<DefinitionProblem, "path"> {
  if (Object.hasOwn(instances, ref)) return { takes: "any" };
  const found = showFound(ref);
  try {
    const { provider } = parseModelRef(ref, Object.keys(providers));
    if (modelRefPattern.test(ref)) return { takes: providers[provider]?.options ?? "any" };
    return { message: "expected provider:model without spaces", found };
  } catch (thrown) {
    if (!(thrown instanceof UnknownModelError)) throw thrown;
    const { providers: allowed, suggestion } = thrown;
    const message = "expected provider:model, with one of the allowed providers";
    return { message, found, allowed, ...(suggestion !== null && { suggestion }) };
  }
}

/** Options that a model is given and does not take. Where there are several models, the first of its runs is named. */
function optionProblems(
  written: unknown,
  { ref, path, takes }: NamedModel,
  points: readonly MatrixPoint[],
): readonly DefinitionProblem[] {
  if (takes === null || takes === "any") return [];
  const allowed = optionNames.filter((name) => takes.includes(name));
  const point =
    path[0] === "matrix"
      ? points.find(({ values }) => values.get("model_name")?.at === path.at(-1))
      : undefined;
  const whose = `the model "${ref}"${point === undefined ? "" : ` of the run "${point.run_id}"`}`;
  return optionNames
    .filter((name) => !allowed.includes(name))
    .flatMap((name) => optionPaths(written, name))
    .map((at) => ({ path: at, message: `${whose} does not take this option`, allowed }));
}

function optionPaths(written: unknown, name: OptionName): readonly DefinitionPath[] {
  return [
    ["model_options", name],
    ["matrix", name],
  ].filter((path) => getAtPath(written, path) !== undefined);
}

function ollamaProblems(
  written: unknown,
  named: readonly NamedModel[],
): readonly DefinitionProblem[] {
  const isGiven = getAtPath(written, ["ollama_client_config"]) !== undefined;
  const isKnown = named.length > 0 && named.every(({ takes }) => takes !== null);
  if (!isGiven || !isKnown || named.some(({ ref }) => isOllama(ref))) return [];
  const message = "only models of ollama: are reached with this, and no run has one";
  return [{ path: ["ollama_client_config"], message }];
}
