import { jsonSyntaxProblem } from "../../../definition/json-text.ts";
import { ToolFailure } from "../../tool-failure.ts";
import { sizeOf } from "./work-meter.ts";

/** UTF-8 bytes of a file, characters of a text, values and characters of data that is given as it is. */
export const maxDataSize = 5 * 1024 * 1024;

/**
 * @param what the text is called in the failure
 * @throws ToolFailure that says where the text is no JSON
 */
export function parsedJson(text: string, what: string): unknown {
  if (text.length > maxDataSize) throw tooLarge();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const problem = jsonSyntaxProblem(text);
    const where = problem === undefined ? "" : ` at line ${problem.line}, column ${problem.column}`;
    throw new ToolFailure(
      `${what} is no JSON: ${problem?.message ?? "it cannot be read"}${where}.`,
    );
  }
}

/** @throws ToolFailure for data that is too large or nested too deeply to be queried */
export function checkDataSize(data: unknown): void {
  if (sizeOf(data, maxDataSize) > maxDataSize) throw tooLarge();
}

function tooLarge(): ToolFailure {
  return new ToolFailure(
    `The data is too large; up to ${maxDataSize.toLocaleString("en")} bytes are queried.`,
  );
}
