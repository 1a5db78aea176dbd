import type { CliIo } from "../io.ts";
import { warning, type Finding } from "./finding.ts";

/** Any of these being `true` turns LangChain's tracing on. */
const switches = [
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING_V2",
  "LANGSMITH_TRACING",
  "LANGCHAIN_TRACING",
];

/** Says that runs are sent to LangSmith, and what of them. */
export function checkTracing({ env }: Pick<CliIo, "env">): readonly Finding[] {
  const about = { check: "tracing", subject: "" };
  const variable = switches.find((name) => env[name] === "true");
  if (variable === undefined) return [];
  const what = "Inputs, outputs and messages of runs go to LangSmith";
  const but = "of agents that redact, and of those around them, placeholders go there.";
  return [warning(about, `${what}, since ${variable} is set; ${but}`, `unset ${variable}`)];
}
