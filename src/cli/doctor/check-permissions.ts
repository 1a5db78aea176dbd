import { withAgentsInside } from "../../definition/agents-inside.ts";
import { commonGrants, isGranted } from "../../definition/permission.ts";
import { missingPermissions } from "../../tools/admit-call.ts";
import { ok, warning, type AgentCheck } from "./finding.ts";

/** Whether what tools require is granted, and what is granted is required by one. */
export const checkPermissions: AgentCheck = (definition, { found }) => {
  const { spec } = definition;
  const { permissions: grants } = spec;
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const tools = [...found.tools.values()]
    .map(({ tool }) => tool)
    .filter(({ definition: { name } }) => allowed === "all" || allowed.includes(name));
  const refused = tools.flatMap((tool) => {
    const missing = missingPermissions(tool, grants);
    if (missing.length === 0) return [];
    const names = missing.join(", ");
    const about = { check: "permissions", subject: tool.definition.name };
    const message = `Its calls are refused: it requires ${names}, which the agent is not granted.`;
    return [warning(about, message, `Add to the agent's permissions: ${names}`)];
  });
  const asked = tools.flatMap(({ definition: tool }) => tool.permissions.map(({ name }) => name));
  const inside = [...withAgentsInside(definition)].filter((agent) => agent !== definition);
  // What servers that are down would ask for is not known.
  const isWhole = found.sources.every(({ error }) => error === null);
  const unused = isWhole
    ? grants
        .filter((grant) => !asked.some((name) => isGranted(name, [grant])))
        // It bounds what agents inside are granted.
        .filter((grant) =>
          inside.every(
            ({ spec: { permissions } }) => commonGrants([grant], permissions).length === 0,
          ),
        )
        .map((grant) =>
          warning(
            { check: "permissions", subject: grant },
            "It is granted, and no tool of the agent asks for it.",
            "Take it out of the agent's permissions.",
          ),
        )
    : [];
  const findings = [...refused, ...unused];
  if (findings.length > 0 || asked.length === 0) return findings;
  return [ok({ check: "permissions", subject: "" }, "All that its tools require is granted.")];
};
