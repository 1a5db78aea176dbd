import { randomNumbers } from "../helpers/random-numbers.ts";
import { taskGraph, type TaskGraph } from "./task-graph.ts";

/** Places that each place comes after. */
type Links = readonly (readonly number[])[];

/** Whole numbers, both ends included. */
type Draw = (from: number, to: number) => number;

const families: Readonly<Record<string, (size: number, draw: Draw) => Links>> = {
  layers,
  "fork-join": forkJoin,
  "series-parallel": seriesParallel,
  "Erdős–Rényi": anyPairs,
};

/** So many graphs of 5 to 60 subtasks that take 1 to 10 each, of four families in turn; the same in every run. */
export function randomGraphs(count: number, seed = 1): readonly TaskGraph[] {
  const random = randomNumbers(seed);
  const draw: Draw = (from, to) => from + Math.floor(random() * (to - from + 1));
  const kinds = Object.entries(families);
  return Array.from({ length: count }, (_, number) => {
    const [name, make] = kinds[number % kinds.length] as (typeof kinds)[number];
    const links = make(draw(5, 60), draw);
    const tasks = links.map((after, place) => ({
      id: `s${place}`,
      after: after.map((before) => `s${before}`),
      duration: draw(1, 10),
    }));
    return taskGraph(`${name} ${number}`, tasks);
  });
}

/** Layers of 1 to 10; each subtask comes after 1 to 3 of the layer before. */
function layers(size: number, draw: Draw): Links {
  const links: number[][] = [];
  let before: number[] = [];
  while (links.length < size) {
    const width = Math.min(draw(1, 10), size - links.length);
    const layer = Array.from({ length: width }, (_, at) => links.length + at);
    for (const _ of layer) {
      const some = Array.from({ length: before.length === 0 ? 0 : draw(1, 3) }, () =>
        draw(0, before.length - 1),
      );
      links.push([...new Set(some)].map((at) => before[at] ?? 0));
    }
    before = layer;
  }
  return links;
}

/** Forks of 2 to 8 branches of 1 to 3 subtasks, joined by one, which the next fork comes after. */
function forkJoin(size: number, draw: Draw): Links {
  const links: number[][] = [[]];
  let fork = 0;
  while (links.length < size) {
    const ends: number[] = [];
    const branches = draw(2, 8);
    while (ends.length < branches && links.length < size - 1) {
      let last = fork;
      const length = draw(1, 3);
      for (let step = 0; step < length && links.length < size - 1; step += 1) {
        links.push([last]);
        last = links.length - 1;
      }
      ends.push(last);
    }
    links.push(ends.length === 0 ? [fork] : ends);
    fork = links.length - 1;
  }
  return links;
}

/** Halves one after the other or side by side, down to single subtasks. */
function seriesParallel(size: number, draw: Draw): Links {
  const links: number[][] = [];
  const make = (count: number, after: readonly number[]): readonly number[] => {
    if (count === 1) return [links.push([...after]) - 1];
    const first = draw(1, count - 1);
    const ends = make(first, after);
    return draw(0, 1) === 0 ? make(count - first, ends) : [...ends, ...make(count - first, after)];
  };
  make(size, []);
  return links;
}

/** Every pair with the same chance, some two links for each subtask; places are already in an order without cycles. */
function anyPairs(size: number, draw: Draw): Links {
  const chance = Math.min(1000, Math.round((1000 * 4) / size));
  return Array.from({ length: size }, (_, place) =>
    Array.from({ length: place }, (_1, before) => before).filter(() => draw(1, 1000) <= chance),
  );
}
