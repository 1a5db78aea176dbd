import { posix } from "node:path";
import ts from "typescript";

export interface TestFile {
  readonly path: string;
  /** Of its last run. */
  readonly ms: number;
  /** It imports the file with the fault. */
  readonly isDirect: boolean;
}

/** Direct tests find a fault so much more often that they come before others that take a fifth of their time. */
const directAdvantage = 5;

/** Milliseconds of the first batch; each other one takes twice as long as the one before. */
const firstBatch = 15_000;

/** Parts the test files that reach a fault into runs: those that find it soonest come first, so that most faults need one run. */
export function planBatches(files: readonly TestFile[]): TestFile[][] {
  const rank = ({ ms, isDirect }: TestFile) => (isDirect ? ms / directAdvantage : ms);
  const batches: TestFile[][] = [];
  let batch: TestFile[] = [];
  let room = firstBatch;
  for (const file of files.toSorted((a, b) => rank(a) - rank(b))) {
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
