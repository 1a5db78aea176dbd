import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { experimentJsonSchema } from "../../../src/experiment/config/experiment-schema.ts";

const file = new URL("../../../schema/experiment.schema.json", import.meta.url);

describe("schema/experiment.schema.json", () => {
  const schema = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const ajv = new Ajv2020({ allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  const config = { run_id: "a", cycle_count: 3 };

  it("is what `npm run schema` writes", async () => {
    const written = `${JSON.stringify(experimentJsonSchema(), null, 2)}
`;
    await expect(written).toMatchFileSnapshot("../../../schema/experiment.schema.json");
  });

  it("takes a config that names its models, outside of the matrix or in it", () => {
    expect(validate({ ...config, model_name: "offline:rules" })).toBe(true);
    const matrix = { model_name: ["ollama:a", "ollama:b"], seed: [1, 2] };
    expect(validate({ ...config, matrix })).toBe(true);
  });

  it.each<Record<string, unknown>>([
    {},
    { matrix: { seed: [1] } },
    { model_name: "llama3" },
    { model_name: "offline:rules", matrix: { seed: [] } },
    { model_name: "offline:rules", matrix: { system_prompt: { "a b": "x" } } },
    { model_name: "offline:rules", cycles: 5 },
  ])("refuses %j", (parts) => {
    expect(validate({ ...config, ...parts })).toBe(false);
  });
});
