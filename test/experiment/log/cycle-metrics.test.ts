import { describe, expect, it } from "vitest";
import { cycleMetrics, isFailedOutput } from "../../../src/experiment/log/log-entry.ts";
import { madeEntries, message, remove, write } from "../../helpers/experiment-logs.ts";

const entriesOf = (cycle: Parameters<typeof madeEntries>[0]["cycles"][number]) =>
  madeEntries({ run_id: "a", cycles: [cycle] });

describe("cycleMetrics", () => {
  it("counts calls that gave something, and code points", () => {
    const entries = entriesOf({
      calls: [
        write("plan", "a𝄞b"),
        { ...write("too long", "0123456789"), output: { error: "refused" } },
        { tool: "memory_read", parameters: { key: "plan" }, output: "a𝄞b" },
        { tool: "memory_list", output: ["plan"] },
        remove("plan"),
        message("hello"),
        { ...message("again"), output: { error: "nobody listens" } },
        { tool: "calculator", parameters: { value: "1 + 1" } },
      ],
      reflection: "Done 🎻.",
    });
    expect(cycleMetrics(entries)).toEqual({
      memory_ops_total: 4,
      messages_to_operator: 1,
      response_chars: 7,
      memory_write_chars: 3,
    });
  });

  it("counts what the model says beside its calls", () => {
    const entries = entriesOf({ calls: [message("x")], reflection: "1234" }).map((entry, index) =>
      entry.event_type === "LLM_INVOCATION" && index === 1
        ? {
            ...entry,
            payload: {
              ...entry.payload,
              response_message: { ...entry.payload.response_message, content: "Sending." },
            },
          }
        : entry,
    );
    expect(cycleMetrics(entries).response_chars).toBe(12);
  });

  it("counts no characters of a value that is no text", () => {
    const call = { tool: "memory_write", parameters: { key: "a", value: 12 } };
    expect(cycleMetrics(entriesOf({ calls: [call] }))).toMatchObject({
      memory_ops_total: 1,
      memory_write_chars: 0,
    });
  });
});

it("takes an output for a failure that is an object with an error", () => {
  const failed = [{ error: "no" }, { error: { code: 1 } }, { error: "" }];
  const fine = [null, "error", ["error"], {}, { error: null }, { errors: 1 }, undefined];
  expect(failed.map(isFailedOutput)).toEqual([true, true, true]);
  expect(fine.map(isFailedOutput)).toEqual(fine.map(() => false));
});
