import { describe, expect, it } from "vitest";
import { defineWorker, InvalidWorkerError, type WorkerTask } from "../../src/definition/worker.ts";

const options = {
  name: "counter",
  description: "Counts words.",
  run: ({ description }: WorkerTask) => description.split(" ").length,
};

const task: WorkerTask = {
  id: "a",
  description: "three words here",
  expected_output: "",
  dependencies: [],
  results: {},
  attempt: 1,
  signal: new AbortController().signal,
};

/** `defineWorker` for what TypeScript refuses. */
const define = defineWorker as (given: unknown) => unknown;

describe("defineWorker", () => {
  it("gives a frozen worker that runs the function", () => {
    const worker = defineWorker(options);
    expect(worker).toEqual({ ...options, run: expect.any(Function) as unknown });
    expect(Object.isFrozen(worker)).toBe(true);
    expect(worker.run(task)).toBe(3);
  });

  it("runs a method as one of the object that it was given", () => {
    const counting = {
      ...options,
      count: 7,
      run() {
        return this.count;
      },
    };
    const { count: _, ...known } = counting;
    expect(defineWorker(Object.setPrototypeOf(known, counting) as typeof known).run(task)).toBe(7);
  });

  it.each([
    [
      { name: "Counter" },
      'Worker "Counter": a name has 1 to 128 lower-case letters, digits, _ and -, and begins with a letter or digit; found "Counter".',
    ],
    [{ name: "-a" }, expect.stringContaining('found "-a"') as string],
    [{ name: "a".repeat(129) }, expect.stringContaining("a name has 1 to 128") as string],
    [
      { name: undefined },
      'Worker "?": a name has 1 to 128 lower-case letters, digits, _ and -, and begins with a letter or digit; found nothing.',
    ],
    [
      { description: " " },
      'Worker "counter": the description is empty; subtasks are given to workers by it.',
    ],
    [
      { description: undefined },
      'Worker "counter": the description is empty; subtasks are given to workers by it.',
    ],
    [{ description: 3 }, 'Worker "counter": the description must be a text, not 3.'],
    [{ run: "x" }, 'Worker "counter": run is not a function.'],
    [
      { descriptions: "x" },
      'Worker "counter": unknown option "descriptions" (allowed: name, description, run; did you mean "description"?).',
    ],
  ])("refuses %o", (wrong, message) => {
    expect(() => define({ ...options, ...wrong })).toThrow(
      expect.objectContaining({ code: "invalid_worker", message }),
    );
  });

  it.each([undefined, null, 3, []])("refuses %j for options", (given) => {
    expect(() => define(given)).toThrow(InvalidWorkerError);
  });

  it("takes a name that an agent may have", () => {
    expect(defineWorker({ ...options, name: "9_a-b" }).name).toBe("9_a-b");
  });
});
