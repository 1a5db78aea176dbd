import { expect, it } from "vitest";
import { truncateModelText } from "../../src/values/text.ts";

it("keeps 2,000 characters of what a model wrote, and says what it cut", () => {
  expect(truncateModelText("  a plan\n")).toBe("a plan");
  expect(truncateModelText("x".repeat(2000))).toBe("x".repeat(2000));
  expect(truncateModelText("x".repeat(2500))).toBe(
    `${"x".repeat(2000)}… [cut: 500 more characters]`,
  );
});
