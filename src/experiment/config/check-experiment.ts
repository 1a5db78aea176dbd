import { duplicateTools } from "../../definition/check-definition.ts";
import { templateProblems } from "../../definition/expression-problems.ts";
import { nestingProblems } from "../../definition/nesting.ts";
import type { DefinitionProblem } from "../../definition/problems.ts";
import { schemaProblems } from "../../definition/schema-problems.ts";
import { serverProblems } from "../../definition/server-problems.ts";
import { valueAt } from "../../definition/value-at.ts";
import { clientProblems } from "./client-problems.ts";
import { experimentSchema, matrixSchema, type ExperimentConfig } from "./experiment-schema.ts";
import { expandMatrix, type MatrixPoint } from "./expand-matrix.ts";
import { axesOf } from "./matrix-axes.ts";
import { matrixProblems, runIdProblems, sizeProblems } from "./matrix-problems.ts";
import { modelProblems, type ExperimentModels } from "./model-problems.ts";
import { promptScope } from "./prompt-scope.ts";

export type CheckedExperiment =
  | {
      readonly ok: true;
      readonly config: ExperimentConfig;
      /** One for every run. */
      readonly points: readonly MatrixPoint[];
    }
  | { readonly ok: false; readonly problems: readonly DefinitionProblem[] };

/** Everything that can be said of a config as it was written, without knowing what tools there are. */
export function checkExperiment(written: unknown, models: ExperimentModels): CheckedExperiment {
  const nesting = nestingProblems(written);
  if (nesting.length > 0) return { ok: false, problems: nesting };
  const parsed = experimentSchema.safeParse(written);
  const { points, problems: ofPoints } = pointsOf(written);
  const problems = [
    ...schemaProblems(written, experimentSchema),
    ...matrixProblems(written),
    ...ofPoints,
    ...modelProblems(written, { models, points }),
    ...clientProblems(written),
    ...duplicateTools(valueAt(written, ["tools"])),
    ...serverProblems(written),
    ...promptProblems(valueAt(written, ["cycle_prompt"])),
  ];
  if (problems.length > 0 || !parsed.success) return { ok: false, problems };
  // A copy, so that freezing it leaves the caller's objects as they are; it is plain JSON by now.
  const config = JSON.parse(JSON.stringify(parsed.data)) as ExperimentConfig;
  return { ok: true, config, points };
}

/** The runs of a config whose matrix has the right shape; none where there would be too many. */
function pointsOf(written: unknown): {
  readonly points: readonly MatrixPoint[];
  readonly problems: readonly DefinitionProblem[];
} {
  const matrix = valueAt(written, ["matrix"]);
  if (matrix !== undefined && !matrixSchema.safeParse(matrix).success) {
    return { points: [], problems: [] };
  }
  // As it was written, since the schema puts the keys into another order.
  const axes = axesOf(matrix ?? {});
  const tooMany = sizeProblems(axes);
  if (tooMany.length > 0) return { points: [], problems: tooMany };
  const runId = valueAt(written, ["run_id"]);
  const points = expandMatrix(typeof runId === "string" ? runId : "", axes);
  const isNamed = experimentSchema.shape.run_id.safeParse(runId).success;
  const hasDoubles = matrixProblems(written).length > 0;
  return { points, problems: isNamed && !hasDoubles ? runIdProblems(points) : [] };
}

function promptProblems(source: unknown): readonly DefinitionProblem[] {
  if (typeof source !== "string") return [];
  return templateProblems({ source, path: ["cycle_prompt"] }, promptScope);
}
