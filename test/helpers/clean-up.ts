const cleanUps: (() => unknown)[] = [];

/**
 * Runs a function after the test file that is running, the newest first. Vitest drops without a word an `afterAll` that
 * a test or another hook calls, so what is made there is cleaned up here.
 */
export function afterTestFile(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

export async function runCleanUps(): Promise<void> {
  for (let cleanUp = cleanUps.pop(); cleanUp !== undefined; cleanUp = cleanUps.pop())
    await cleanUp();
}
