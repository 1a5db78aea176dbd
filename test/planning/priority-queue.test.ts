import fc from "fast-check";
import { expect, it } from "vitest";
import { PriorityQueue } from "../../src/planning/scheduler.ts";

it("gives what comes first, whenever it was put in", () => {
  // A number is put in, null takes one out.
  const steps = fc.array(fc.option(fc.integer(), { freq: 2 }));
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new PriorityQueue<number>((a, b) => a < b);
      let left: number[] = [];
      for (const step of all) {
        const isOut = step === null;
        const out = isOut ? queue.pop() : undefined;
        if (!isOut) queue.push(step);
        expect(out).toBe(isOut ? left[0] : undefined);
        left = isOut ? left.slice(1) : [...left, step].toSorted((a, b) => a - b);
        expect(queue.first).toBe(left[0]);
        expect(queue.size).toBe(left.length);
      }
    }),
  );
});
