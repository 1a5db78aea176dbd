import { errorMessage } from "../errors.ts";
import { isRecord } from "../state/is-record.ts";
import { UsageError } from "./usage-error.ts";

/**
 * A JSON object that an option gives.
 * @throws UsageError
 */
export function readJsonObject(json: string, option: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new UsageError(`${option} is not JSON: ${errorMessage(cause)}.`, "invalid_json", {
      cause,
    });
  }
  if (isRecord(value)) return value;
  throw new UsageError(`${option} is no JSON object: expected {"channel": value}.`, "invalid_json");
}
