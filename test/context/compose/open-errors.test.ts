import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { OpenErrors } from "../../../src/context/compose/fit.ts";
import type { Entry } from "../../../src/context/transcript.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

const said = (turn: number): Entry => {
  return { kind: "spoken", turn, message: new HumanMessage("go on"), isRequest: false };
};
/** A step whose tools, by name, succeeded or failed. */
const step = (turn: number, calls: Readonly<Record<string, boolean>>): Entry => {
  const results = Object.entries(calls).map(([name, isSuccess]) =>
    toolResult({ name, outcome: isSuccess ? "success" : "failure" }),
  );
  return { kind: "step", turn, step: stepRecord({ turn_number: turn, tool_results: results }) };
};

/** For each entry until when its errors are open. */
function openErrors(entries: readonly Entry[]): readonly number[] {
  const open = new OpenErrors();
  for (const entry of entries) open.push(entry);
  return entries.map((_, at) => open.until(at));
}

describe("OpenErrors", () => {
  it("finds none in what was said and in steps that succeeded", () => {
    expect(openErrors([said(0), step(0, { read: true }), step(0, {})])).toEqual([-1, -1, -1]);
  });

  it("ends an error with the step in which its tool succeeds next", () => {
    const entries = [
      step(0, { read: false }),
      step(0, { search: true }),
      step(0, { read: true }),
      step(0, { read: true }),
    ];
    expect(openErrors(entries)).toEqual([2, -1, -1, -1]);
  });

  it("ends the errors of a step with the last of its tools to succeed", () => {
    const entries = [
      step(0, { read: false, search: false }),
      step(0, { search: true }),
      step(0, { read: true }),
    ];
    expect(openErrors(entries)[0]).toBe(2);
  });

  it("ends an error with the first entry of the next turn, whatever succeeds there", () => {
    const entries = [
      said(0),
      step(0, { read: false }),
      said(0),
      said(1),
      step(1, { read: true }),
      said(2),
    ];
    expect(openErrors(entries)).toEqual([-1, 3, -1, -1, -1, -1]);
  });

  it("leaves an error of the last turn open", () => {
    const entries = [step(0, { read: false }), said(1), step(1, { read: false }), said(1)];
    expect(openErrors(entries)).toEqual([1, -1, Infinity, -1]);
  });
});
