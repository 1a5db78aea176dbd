/**
 * The seed of this run's random tests: `TEST_SEED`, else a new one, which the run prints first. Worker processes and the
 * programs that tests start inherit it.
 */
export const testSeed = Number((process.env["TEST_SEED"] ??= String(newSeed())));

function newSeed(): number {
  return Math.trunc(Math.random() * 2 ** 31);
}

/** Random numbers from 0 up to 1, the same for the same seed and name. */
export interface Random {
  (): number;
  /** A whole number from `min` up to `max`, without `max`. */
  int(min: number, max: number): number;
}

/** Mulberry32 (Tommy Ettinger, public domain), begun with a hash (FNV-1a) of the name and the seed. */
export function seededRandom(name: string, seed = testSeed): Random {
  let state = 0x811c9dc5;
  for (const character of `${seed} ${name}`) {
    state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  }
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return Object.assign(next, {
    int: (min: number, max: number) => min + Math.floor(next() * (max - min)),
  });
}
