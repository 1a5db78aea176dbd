import { patternProblem } from "../expression/pattern-problem.ts";
import { isRecord } from "../state/is-record.ts";
import { jsonSchemaProblems } from "./json-schema-problems.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import { valueAt } from "./value-at.ts";

/** What is wrong with the configs of rails, beyond what their schema says. */
export function railConfigProblems(written: unknown): readonly DefinitionProblem[] {
  return ["input_rails", "output_rails"].flatMap((side) => {
    const rails = valueAt(written, ["guardrail_config", side]);
    return (Array.isArray(rails) ? rails : []).flatMap((rail: unknown, index) => {
      const path = ["guardrail_config", side, index, "config"];
      const config = valueAt(rail, ["config"]);
      switch (valueAt(rail, ["type"])) {
        case "topic":
          return topicProblems(config, path);
        case "format":
          return formatProblems(config, path);
        default:
          return [];
      }
    });
  });
}

function topicProblems(config: unknown, path: DefinitionPath): readonly DefinitionProblem[] {
  if (config !== undefined && !isRecord(config)) return [];
  const { allow = [], deny = [] } = config ?? {};
  const isEmpty = (list: unknown) => Array.isArray(list) && list.length === 0;
  if (!isEmpty(allow) || !isEmpty(deny)) return [];
  return [{ path, message: "expected topics in allow or in deny; there are none to look for" }];
}

function formatProblems(config: unknown, path: DefinitionPath): readonly DefinitionProblem[] {
  if (config !== undefined && !isRecord(config)) return [];
  const { schema, pattern, is, min_length: min, max_length: max, language } = config ?? {};
  const asked = [schema, pattern, is, min, max, language];
  const wrongPattern = typeof pattern === "string" ? patternProblem(pattern) : undefined;
  return [
    ...(asked.every((one) => one === undefined)
      ? [
          {
            path,
            message: "expected at least one of the allowed keys; there is nothing to check",
            allowed: ["is", "schema", "pattern", "min_length", "max_length", "language"],
          },
        ]
      : []),
    ...(isRecord(schema) ? jsonSchemaProblems(schema, [...path, "schema"]) : []),
    ...(is === "markdown" && schema !== undefined
      ? [
          {
            path: [...path, "is"],
            message: "an answer that fits a schema is JSON",
            allowed: ["json"],
          },
        ]
      : []),
    ...(wrongPattern === undefined
      ? []
      : [{ path: [...path, "pattern"], message: wrongPattern, found: showFound(pattern) }]),
    ...(typeof min === "number" && typeof max === "number" && min > max
      ? [
          {
            path: [...path, "min_length"],
            message: `expected at most max_length, which is ${max}`,
            found: showFound(min),
          },
        ]
      : []),
  ];
}
