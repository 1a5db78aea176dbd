import type { DefinitionPath } from "../../definition/problems.ts";
import type { AgentSpec } from "../../definition/schema.ts";
import { isRecord } from "../../state/is-record.ts";

/** A text of a definition in which references to secrets are replaced. */
export interface SecretText {
  readonly path: DefinitionPath;
  /** What the text is called: a header, a variable, the option before it. */
  readonly name: string;
  readonly text: string;
}

/** Texts of servers, packages and the moderation of a rail. */
export function secretTexts(spec: AgentSpec): readonly SecretText[] {
  const tools = spec.tools.flatMap((entry, index): readonly SecretText[] => {
    if (typeof entry === "string") return [];
    if ("community" in entry) {
      return textsIn(entry.community.options, ["tools", index, "community", "options"]);
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
