import { describe, expect, it } from "vitest";
import { type Attachment, defineAgent, executeAgent } from "../../../src/index.ts";
import { attached, lampPng } from "../../helpers/attachments.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const text = (content: string) => attached(Buffer.from(content), "notes.txt", "text/plain");
const image = attached(lampPng, "lamp.png", "image/png");

async function run(verdict: "block" | "redact", message: string, attachments: Attachment[]) {
  const rails = [wordRail("secret", verdict, ["input"])];
  const agent = defineAgent({
    name: "careful",
    guardrail_config: { input_rails: [{ type: "custom", name: "word" }] },
  });
  const { runtime, model } = await testRuntime(["Seen."], { rails });
  const result = await executeAgent(agent, { message }, { runtime, attachments });
  return { result, model };
}

describe("input rails", () => {
  it("check the text of attached files", async () => {
    const { result, model } = await run("block", "Read this", [text("a secret word")]);
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "guardrail:word"]);
    expect(model.requests).toEqual([]);
  });

  it("redact the text of attached files, and the request that came with them", async () => {
    const { model } = await run("redact", "My secret", [text("a secret word")]);
    const read = model.read(0).join("\n");
    expect(read).toContain("[File notes.txt, text/plain]\na <WORD_");
    expect(read).not.toContain("secret");
  });

  it("record the attachments that they did not check", async () => {
    const { result } = await run("block", "Look", [image, text("fine")]);
    const ofInput = result.rails.map(({ rail, verdict, unchecked }) => ({
      rail,
      verdict,
      unchecked,
    }));
    expect(ofInput).toEqual([
      { rail: "word", verdict: "pass", unchecked: ["image lamp.png"] },
      { rail: "word", verdict: "pass", unchecked: undefined },
    ]);
  });

  it("check the request once where only images come with it", async () => {
    const { result } = await run("block", "Look", [image]);
    expect(result.rails).toHaveLength(1);
  });
});
