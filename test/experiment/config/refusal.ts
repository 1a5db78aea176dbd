import { InvalidExperimentError } from "../../../src/experiment/errors.ts";

/** What is thrown for a config that must be refused. */
export async function refusalOf(read: () => unknown): Promise<InvalidExperimentError> {
  try {
    await read();
  } catch (thrown) {
    if (thrown instanceof InvalidExperimentError) return thrown;
    throw thrown;
  }
  throw new Error("expected a refusal");
}
