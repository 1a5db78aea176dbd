import { type DefinitionPath, formatPath } from "../../definition/check/problems.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import { isDataTool } from "../../definition/schema/data-tools.ts";
import { replaceSecrets, findSecretNames } from "../../definition/schema/servers.ts";
import { findKeys } from "../../guardrails/pii/keys.ts";
import { isRecord } from "../../values/json.ts";
import { type AgentCheck, ok, problem, setVariable, warning } from "./finding.ts";

/** Secrets that stand in a definition themselves. They are not shown. */
export const checkLiterals: AgentCheck = ({ spec }) =>
  secretTexts(spec)
    .filter(looksSecret)
    .map(({ path }) =>
      warning(
        { check: "secret", subject: formatPath(path) },
        "It looks like a secret, and is visible to all readers of the definition.",
        "Move it to the environment, and reference it as {{secret:NAME}}.",
      ),
    );

/** The last word of a name whose value is secret. */
const secretName =
  /(?:^|[_-])(?:token|secret|password|passwd|pwd|credential|cookie|authorization|auth|(?:api|access|private)[_-]?key)$/i;
/** What goes before a secret in a header, what is no secret by its form, and what stands for one elsewhere. */
const noSecret = /^(?:bearer|basic|token|true|false|none|\d*|\.{0,2}\/.*|\$\{?\w+\}?|https?:.*)$/i;
const leastLength = 8;

function looksSecret({ name, text }: SecretText): boolean {
  const literal = replaceSecrets(text, () => "").trim();
  if (findKeys(literal).length > 0 || findKeys(`${name}: ${literal}`).length > 0) return true;
  const words = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2");
  return secretName.test(words) && literal.length >= leastLength && !noSecret.test(literal);
}

/** Checks that the secrets of a definition exist. Their values are not printed. */
export const checkSecrets: AgentCheck = async ({ spec }, { secrets }) => {
  const places = new Map<string, string>();
  for (const { path, text } of secretTexts(spec)) {
    for (const name of findSecretNames(text)) {
      if (!places.has(name)) places.set(name, formatPath(path));
    }
  }
  return Promise.all(
    [...places].map(async ([name, place]) => {
      const about = { check: "secret", subject: name };
      if ((await secrets?.has(name)) === true) return ok(about, "It is set.");
      return problem(about, `It is not set, but ${place} references it.`, setVariable(name));
    }),
  );
};

/** A text of a definition in which references to secrets are replaced. */
interface SecretText {
  readonly path: DefinitionPath;
  /** What the text is called: a header, a variable, the option before it. */
  readonly name: string;
  readonly text: string;
}

/** Texts of servers, packages and the moderation of a rail. */
function secretTexts(spec: AgentSpec): readonly SecretText[] {
  const tools = spec.tools.flatMap((entry, index): readonly SecretText[] => {
    if (typeof entry === "string") return [];
    if ("community" in entry) {
      return textsIn(entry.community.options, ["tools", index, "community", "options"]);
    }
    if (isDataTool(entry)) {
      const { headers, query } = entry.transport;
      return textsIn({ headers, query }, ["tools", index, "transport"]);
    }
    const { mcp } = entry;
    const path = ["tools", index, "mcp"];
    if (mcp.transport === "stdio") {
      return [...textsIn(mcp.args, [...path, "args"]), ...textsIn(mcp.env, [...path, "env"])];
    }
    return [
      { path: [...path, "endpoint"], name: "endpoint", text: mcp.endpoint },
      ...textsIn(mcp.headers, [...path, "headers"]),
    ];
  });
  const rails = spec.guardrail_config.output_rails.flatMap((rail, index) => {
    if (rail.type !== "toxicity" || rail.config.moderation === undefined) return [];
    const { endpoint, headers } = rail.config.moderation;
    const path = ["guardrail_config", "output_rails", index, "config", "moderation"];
    return textsIn({ endpoint, headers }, path);
  });
  return [...tools, ...rails];
}

function textsIn(value: unknown, path: DefinitionPath, name = ""): readonly SecretText[] {
  if (typeof value === "string") return [{ path, name, text: value }];
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, index) => {
      const before: unknown = value[index - 1];
      const option = typeof before === "string" && before.startsWith("-") ? before : "";
      return textsIn(one, [...path, index], option);
    });
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => textsIn(one, [...path, key], key));
}
