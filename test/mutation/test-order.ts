import { posix } from "node:path";
import ts from "typescript";

/**
 * `direct` imports the file with the fault or stands in the folder of its tests, `room` tests the same room. The nearer a
 * test is, the longer it may take and still come first.
 */
export type Nearness = keyof typeof advantages;

const advantages = { direct: 10, room: 3, far: 1 };

export interface TestFile {
  readonly path: string;
  /** Of its last run. */
  readonly ms: number;
  readonly nearness: Nearness;
}

/** Milliseconds of the first batch; each other one takes twice as long as the one before. */
const firstBatch = 15_000;

/**
 * Parts the test files that reach a fault into runs: those that find it soonest come first, so that most faults need one run.
 * @param budgetMs what all runs may take together; files that come after are left out, but never the first one
 */
export function planBatches(files: readonly TestFile[], budgetMs = Infinity): TestFile[][] {
  const rank = ({ ms, nearness }: TestFile) => ms / advantages[nearness];
  const batches: TestFile[][] = [];
  let batch: TestFile[] = [];
  let room = firstBatch;
  let spent = 0;
  for (const file of files.toSorted((a, b) => rank(a) - rank(b))) {
    if (spent > 0 && spent + file.ms > budgetMs) break;
    spent += file.ms;
    if (batch.length > 0 && sumOfMs(batch) + file.ms > room) {
      batches.push(batch);
      batch = [];
      room *= 2;
    }
    batch.push(file);
  }
  return batch.length > 0 ? [...batches, batch] : batches;
}

/** How long a run of these files may take before it counts as hanging. */
export function timeLimit(batch: readonly TestFile[]): number {
  return 60_000 + 3 * sumOfMs(batch);
}

function sumOfMs(files: readonly TestFile[]): number {
  return files.reduce((sum, { ms }) => sum + ms, 0);
}

/** The files that a source imports by relative paths, from the root of the repository. */
export function relativeImports(path: string, source: string): string[] {
  return ts
    .preProcessFile(source, true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => posix.join(posix.dirname(path), fileName));
}
