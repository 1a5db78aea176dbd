import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SelectableTool } from "../../src/tools/selection/tool-index.ts";

/** Requests of one published set, and the tools they choose from. */
export interface SelectionSet {
  readonly name: string;
  readonly tools: readonly SelectableTool[];
  readonly requests: readonly {
    readonly query: string;
    /** Names of the right tools. */
    readonly gold: readonly string[];
  }[];
}

interface SetFiles {
  readonly name: string;
  readonly tools: string;
  readonly requests: string;
}

export const selectionSets: readonly SetFiles[] = [
  { name: "metatool", tools: "metatool-tools.json", requests: "metatool-single.jsonl" },
  { name: "seal", tools: "seal-tools.json", requests: "seal-in-domain.jsonl" },
];

interface DataTool {
  readonly name: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, { readonly description?: string }>>;
}

export function readSet(folder: string, { name, tools, requests }: SetFiles): SelectionSet {
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  return {
    name,
    tools: (JSON.parse(read(tools)) as DataTool[]).map(asTool),
    requests: read(requests)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as SelectionSet["requests"][number]),
  };
}

/** As a definition of ours would say it; types of parameters do not matter here. */
function asTool({ name, description, parameters = {} }: DataTool): SelectableTool {
  return {
    definition: {
      name,
      description,
      input_schema: { type: "object", properties: parameters },
      permissions: [],
    },
  };
}
