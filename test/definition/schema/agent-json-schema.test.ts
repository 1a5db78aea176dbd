import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { agentJsonSchema } from "../../../src/definition/schema/agent.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

describe("schema/agent.schema.json", () => {
  const schema = JSON.parse(read("schema/agent.schema.json")) as Record<string, unknown>;
  const check = z.fromJSONSchema(schema);

  it("is what `npm run schema` writes", async () => {
    const written = `${JSON.stringify(agentJsonSchema(), null, 2)}
`;
    await expect(written).toMatchFileSnapshot("../../../schema/agent.schema.json");
  });

  it("takes the example and refuses an unknown key in it", () => {
    const agent = parse(read("examples/calculator/agent.yaml")) as Record<string, unknown>;
    expect(check.safeParse(agent).success).toBe(true);
    expect(check.safeParse({ ...agent, toools: [] }).success).toBe(false);
    expect(check.safeParse({ ...agent, llm_config: { temp: 1 } }).success).toBe(false);
  });
});
