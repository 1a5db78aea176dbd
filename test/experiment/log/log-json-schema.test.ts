import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { logJsonSchema } from "../../../src/experiment/log/log-entry.ts";
import { madeEntries, message, write } from "../../helpers/experiment-logs.ts";

const file = new URL("../../../schema/experiment-log.schema.json", import.meta.url);

describe("schema/experiment-log.schema.json", () => {
  const schema = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const ajv = new Ajv2020({ allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  const entries = madeEntries({
    run_id: "a",
    seed: null,
    prompt_name: "terse",
    cycles: [
      { calls: [write("k", "v"), { ...message("hi"), output: { error: "nobody listens" } }] },
      { calls: [{ tool: "memory_list", output: ["k"] }] },
    ],
  });

  it("is what `npm run schema` writes", async () => {
    const written = `${JSON.stringify(logJsonSchema(), null, 2)}
`;
    await expect(written).toMatchFileSnapshot("../../../schema/experiment-log.schema.json");
  });

  it("takes every line of a log", () => {
    expect(entries.map((entry) => validate(entry))).toEqual(entries.map(() => true));
  });

  it("refuses other events, unknown and missing keys, and wrong types", () => {
    for (const entry of entries) {
      const { payload, ...head } = entry;
      const [key = ""] = Object.keys(payload);
      const { [key]: _left, ...fewer } = payload as Record<string, unknown>;
      const wrong = [
        { ...entry, event_type: "CYCLE" },
        { ...entry, note: 1 },
        { ...entry, cycle_number: 0 },
        { ...entry, timestamp: "2026-11-20T08:00:00+01:00" },
        { ...head },
        { ...head, payload: fewer },
        { ...head, payload: { ...payload, [key]: 7 } },
      ];
      expect(wrong.map((value) => validate(value))).toEqual(wrong.map(() => false));
    }
  });
});
