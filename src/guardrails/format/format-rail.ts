import type { FormatConfig } from "../../definition/guardrail-schema.ts";
import { passed, type Rail, type RailFinding } from "../rail.ts";
import { checkJson } from "./check-json.ts";
import { checkLanguage } from "./check-language.ts";
import { checkLength } from "./check-length.ts";
import { checkMarkdown } from "./check-markdown.ts";
import { checkPattern } from "./check-pattern.ts";
import type { FormatCheck } from "./format-check.ts";

/**
 * Checks an answer's form. Each problem is a reason that says what to mend; the score is 1 where there is any.
 * @throws FormatRailError when the pattern or the schema cannot be used
 */
export function formatRail(
  config: FormatConfig,
  { onError }: { readonly onError: Rail["onError"] },
): Rail {
  const checks = checksOf(config);
  return {
    name: "format",
    on: new Set(["output"]),
    onError,
    // The form is that of what the caller gets.
    readsValues: true,
    async check(answer): Promise<RailFinding> {
      const reasons = (await Promise.all(checks.map(async (check) => check(answer)))).flat();
      if (reasons.length === 0) return passed;
      return { verdict: config.action, score: 1, spans: [], reasons };
    },
  };
}

function checksOf(config: FormatConfig): readonly FormatCheck[] {
  const { is, schema, pattern, min_length, max_length, language } = config;
  const isJson = is === "json" || schema !== undefined;
  const isBounded = min_length !== undefined || max_length !== undefined;
  return [
    ...(isJson ? [checkJson(schema)] : []),
    ...(is === "markdown" ? [checkMarkdown] : []),
    ...(pattern === undefined ? [] : [checkPattern(pattern)]),
    ...(isBounded ? [checkLength(min_length ?? 0, max_length ?? Infinity)] : []),
    ...(language === undefined ? [] : [checkLanguage(language)]),
  ];
}
