/** Counts turns of the event loop until it is stopped. */
export function countTurns() {
  const counted = { turns: 0, stop: () => clearImmediate(timer) };
  const count = () => {
    counted.turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  return counted;
}
