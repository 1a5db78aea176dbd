import { patternProblem } from "../../expression/functions.ts";
import { isRecord } from "../../values/json.ts";
import { jsonSchemaProblems } from "./json-schema-problems.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";

/** Reports problems of rail configs that their schema cannot express. */
export function railConfigProblems(written: unknown): readonly DefinitionProblem[] {
  return ["input_rails", "output_rails"].flatMap((side) => {
    const rails = getAtPath(written, ["guardrail_config", side]);
    return (Array.isArray(rails) ? rails : []).flatMap((rail: unknown, index) => {
      const path = ["guardrail_config", side, index, "config"];
      const config = getAtPath(rail, ["config"]);
      switch (getAtPath(rail, ["type"])) {
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

/** ISO 639-1 codes of the languages that eld detects, copied here because its data is too large to load. */
export const detectedLanguages = [
  "am",
  "ar",
  "az",
  "be",
  "bg",
  "bn",
  "ca",
  "cs",
  "da",
  "de",
  "el",
  "en",
  "es",
  "et",
  "eu",
  "fa",
  "fi",
  "fr",
  "gu",
  "he",
  "hi",
  "hr",
  "hu",
  "hy",
  "is",
  "it",
  "ja",
  "ka",
  "kn",
  "ko",
  "ku",
  "lo",
  "lt",
  "lv",
  "ml",
  "mr",
  "ms",
  "nl",
  "no",
  "or",
  "pa",
  "pl",
  "pt",
  "ro",
  "ru",
  "sk",
  "sl",
  "sq",
  "sr",
  "sv",
  "ta",
  "te",
  "th",
  "tl",
  "tr",
  "uk",
  "ur",
  "vi",
  "yo",
  "zh",
] as const;

export type DetectedLanguage = (typeof detectedLanguages)[number];
