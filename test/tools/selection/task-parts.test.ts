import { describe, expect, it } from "vitest";
import { taskParts } from "../../../src/tools/selection/select-tools.ts";

describe("taskParts", () => {
  it("parts a task at the ends of sentences and lines", () => {
    expect(
      taskParts(
        "Book a cheap flight to Oslo tomorrow. Then translate the hotel's letter to German\nfor my boss",
      ),
    ).toEqual([
      "Book a cheap flight to Oslo tomorrow.",
      "Then translate the hotel's letter to German for my boss",
    ]);
  });

  it("joins short sentences to the next, and the last to the one before", () => {
    expect(taskParts("Hello! Book a cheap flight to Oslo. Thank you.")).toEqual([
      "Hello! Book a cheap flight to Oslo. Thank you.",
    ]);
  });

  it("has one part for a task that says little or nothing", () => {
    expect(taskParts("Go on")).toEqual(["Go on"]);
    expect(taskParts("")).toEqual([""]);
  });

  it("takes the first and the last sentences of a very long task", () => {
    const sentences = Array.from(
      { length: 100 },
      (_, at) => `Find red cars, shop ${at}, Oslo town.`,
    );
    const parts = taskParts(sentences.join(" "));
    expect(parts).toEqual([...sentences.slice(0, 16), ...sentences.slice(-16)]);
  });
});
