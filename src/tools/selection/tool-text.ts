import type { ToolDefinition } from "../../definition/tool.ts";

type Described = Pick<ToolDefinition, "name" | "description" | "input_schema">;

/** What a tool is for, in words: its name, parted, and its description. */
export function purposeText({ name, description }: Described): string {
  const parted = name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").replace(/[_-]+/g, " ");
  return `${parted}: ${description}`;
}

/** Names and descriptions of a tool's parameters; empty for a tool without. */
export function parametersText({ input_schema }: Described): string {
  const { properties } = input_schema;
  if (!isRecord(properties)) return "";
  return Object.entries(properties)
    .map(([name, property]) => {
      const description = isRecord(property) ? property["description"] : undefined;
      return typeof description === "string" ? `${name}: ${description}` : name;
    })
    .join("\n");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
