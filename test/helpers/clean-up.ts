const cleanUps: (() => unknown)[] = [];

/**
 * Runs a function after the test file that is running, the newest first. Vitest silently ignores an `afterAll` that
 * a test or another hook calls, so what is made there is cleaned up here.
 */
export function afterTestFile(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

/** @throws {AggregateError} after all of them, if some failed */
export async function runCleanUps(): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanUp = cleanUps.pop(); cleanUp !== undefined; cleanUp = cleanUps.pop()) {
    try {
      await cleanUp();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Cleaning up after a test file failed.");
}
