import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { contentSent, lampPng } from "../../helpers/attachments.ts";
import { openAIServer } from "../../helpers/openai-server.ts";
import { useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";

const folderWith = useFolders();

describe("stratagraph run --attach", () => {
  it("sends the files with the message", async () => {
    await using server = await openAIServer({ text: "A lamp, on." });
    const cwd = await folderWith({
      "a.json": JSON.stringify({
        name: "a",
        llm_config: { default_model: "openai:gpt-4o-mini", base_url: server.url },
      }),
      "state.txt": "on",
    });
    await writeFile(join(cwd, "lamp.png"), lampPng);
    const io = memoryIo({ cwd, env: { OPENAI_API_KEY: "sk-test-not-a-key" } });
    const argv = ["run", "a.json", "Look", "--attach", "lamp.png", "--attach", "state.txt"];
    expect(await runCli([...argv, "--no-save"], io)).toBe(0);
    expect(io.stdout.take()).toContain("A lamp, on.");
    const url = `data:image/png;base64,${lampPng.toString("base64")}`;
    expect(contentSent(server, 0)).toEqual([
      { type: "text", text: "Look" },
      { type: "image_url", image_url: { url } },
      { type: "text", text: "[File state.txt, text/plain]\non" },
    ]);
  });

  it.each([
    [
      ["Look", "--attach", "missing.png"],
      /expected a readable file, got ENOENT.*\[attachment\]\n$/,
    ],
    [["--thread", "t", "--attach", "a.json"], /\[(invalid_run_option|nothing_to_resume)\]\n$/],
  ])("refuses %j before anything is written", async (words, message) => {
    const cwd = await folderWith({ "a.json": JSON.stringify({ name: "a" }) });
    const io = memoryIo({ cwd });
    expect(await runCli(["run", "a.json", ...words], io)).toBe(2);
    expect(io.stderr.take()).toMatch(message);
  });
});
