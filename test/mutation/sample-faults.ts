import { randomNumbers } from "../../bench/helpers/random-numbers.ts";
import type { Fault } from "./faults.ts";

export interface FileFaults {
  /** The folder that it is sampled for. */
  readonly folder: string;
  /** From the root of the repository. */
  readonly path: string;
  readonly faults: readonly Fault[];
}

export interface SampledFault {
  /** Its place in the sample, counted from 1. */
  readonly id: number;
  readonly folder: string;
  readonly path: string;
  readonly fault: Fault;
}

/**
 * Picks faults, as many of each folder as of the others, at most one a line. Files with more faults are likelier; none gives a
 * second fault before every other one of its folder gave one. Within a file, every kind is as likely as the others.
 */
export function sampleFaults(
  files: readonly FileFaults[],
  { count, seed }: { readonly count: number; readonly seed: number },
): SampledFault[] {
  const random = randomNumbers(seed);
  const queues = [...new Set(files.map(({ folder }) => folder))].map((folder) =>
    picksOf(
      files.filter((file) => file.folder === folder),
      random,
    ),
  );
  const picked: Omit<SampledFault, "id">[] = [];
  for (let live = queues; live.length > 0 && picked.length < count;) {
    const round = live.map((queue) => ({ queue, next: queue.next() }));
    for (const { next } of round) {
      if (!next.done && picked.length < count) picked.push(next.value);
    }
    live = round.filter(({ next }) => !next.done).map(({ queue }) => queue);
  }
  return picked
    .toSorted((a, b) => compare(a.path, b.path) || a.fault.start - b.fault.start)
    .map((fault, index) => ({ id: index + 1, ...fault }));
}

/** The faults of one folder in a random order, a file after the other. */
function* picksOf(
  files: readonly FileFaults[],
  random: () => number,
): Generator<Omit<SampledFault, "id">> {
  let left = files.filter(({ faults }) => faults.length > 0);
  while (left.length > 0) {
    // Efraimidis and Spirakis: the order of random ** (1 / weight) is that of weighted draws without replacement.
    const order = left
      .map((file) => ({ file, key: random() ** (1 / file.faults.length) }))
      .toSorted((a, b) => b.key - a.key)
      .map(({ file }) => file);
    const rest: FileFaults[] = [];
    for (const file of order) {
      const fault = pickFault(file.faults, random);
      yield { folder: file.folder, path: file.path, fault };
      const faults = file.faults.filter(({ line }) => line !== fault.line);
      if (faults.length > 0) rest.push({ ...file, faults });
    }
    left = rest;
  }
}

function pickFault(faults: readonly Fault[], random: () => number): Fault {
  const kind = pick([...new Set(faults.map((fault) => fault.kind))], random);
  return pick(
    faults.filter((fault) => fault.kind === kind),
    random,
  );
}

function pick<Value>(values: readonly Value[], random: () => number): Value {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError("There is nothing to pick from.");
  return value;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
