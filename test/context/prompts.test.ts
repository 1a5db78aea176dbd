import { expect, it } from "vitest";
import { attemptFeedback } from "../../src/context/prompts.ts";

const mend = "Mend these points and answer the request again.";

it("lists why an attempt was refused", () => {
  expect(attemptFeedback(["too short", "no title"])).toBe(
    `That answer was not accepted:\n- too short\n- no title\n${mend}`,
  );
});

it("cuts a reason that is longer than 4,000 characters", () => {
  expect(attemptFeedback(["x".repeat(600_000)])).toBe(
    `That answer was not accepted:\n- ${"x".repeat(4000)}… [cut: 596,000 more characters]\n${mend}`,
  );
});

it("names twenty reasons, and how many more there are", () => {
  const reasons = Array.from({ length: 5000 }, (_, at) => `reason ${at}`);
  const lines = attemptFeedback(reasons).split("\n");
  expect(lines).toHaveLength(23);
  expect(lines.slice(20)).toEqual(["- reason 19", "… and 4,980 more", mend]);
  expect(attemptFeedback(reasons.slice(0, 20))).not.toContain("more");
});
