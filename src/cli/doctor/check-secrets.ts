import { formatPath } from "../../definition/problems.ts";
import { secretsIn } from "../../definition/secret-reference.ts";
import { ok, problem, setVariable, type AgentCheck } from "./finding.ts";
import { secretTexts } from "./secret-texts.ts";

/** Whether the secrets that a definition refers to are there. Their values are told to nobody. */
export const checkSecrets: AgentCheck = async ({ spec }, { secrets }) => {
  const places = new Map<string, string>();
  for (const { path, text } of secretTexts(spec)) {
    for (const name of secretsIn(text)) {
      if (!places.has(name)) places.set(name, formatPath(path));
    }
  }
  return Promise.all(
    [...places].map(async ([name, place]) => {
      const about = { check: "secret", subject: name };
      if ((await secrets?.has(name)) === true) return ok(about, "It is there.");
      return problem(about, `It is missing, and ${place} refers to it.`, setVariable(name));
    }),
  );
};
