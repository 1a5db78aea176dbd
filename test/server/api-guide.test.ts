import { spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { isRecord } from "../../src/values/json.ts";
import { useDatabase } from "../helpers/databases.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const page = fileURLToPath(new URL("../../docs/api-guide.md", import.meta.url));
const database = useDatabase("pglite");
/** Without them the page cannot be run as it is written. */
const hasShell = ["bash", "curl"].every(
  (name) => spawnSync(name, ["--version"]).error === undefined,
);
const folder = tempFolder();
const mark = "@@ end of block @@";

interface Block {
  readonly language: string;
  readonly text: string;
}

async function blocksOf(file: string): Promise<readonly Block[]> {
  const text = await readFile(file, "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = "", body = ""]): Block => ({ language, text: body }),
  );
}

/** Runs blocks in one shell, and returns what each printed. */
function runBlocks(blocks: readonly string[], cwd: string): Promise<readonly string[]> {
  const script = [
    "set -euo pipefail",
    ...blocks.flatMap((block) => [block, `echo; echo '${mark}'`]),
  ];
  return new Promise((resolve, reject) => {
    const shell = spawn("bash", ["-c", script.join("\n")], { cwd });
    let output = "";
    let errors = "";
    shell.stdout.on("data", (chunk) => (output += String(chunk)));
    shell.stderr.on("data", (chunk) => (errors += String(chunk)));
    shell.on("error", reject);
    shell.on("close", (code) => {
      if (code === 0) resolve(output.split(mark).slice(0, -1));
      else reject(new Error(`exit code ${code}: ${errors}${output.slice(-3000)}`));
    });
  });
}

/** What the page would show of an answer: `…` for texts, any number for numbers, and the keys and elements it has. */
function shownAs(shown: unknown, actual: unknown): unknown {
  if (typeof shown === "number" && typeof actual === "number") return shown;
  if (shown === "…" && typeof actual === "string") return shown;
  if (Array.isArray(shown) && Array.isArray(actual) && shown.length > 0) {
    return shown.map((element: unknown) => {
      const found = actual.map((one: unknown) => shownAs(element, one));
      return found.find((one) => isDeepStrictEqual(one, element)) ?? found[0];
    });
  }
  if (!isRecord(shown) || !isRecord(actual)) return actual;
  return Object.fromEntries(
    Object.entries(shown).map(([key, value]) => [key, shownAs(value, actual[key])]),
  );
}

/** The answer in the form of the block that shows it. */
function answered(output: string, { language, text }: Block): { expected: unknown; got: unknown } {
  if (language === "json") {
    const expected: unknown = JSON.parse(text);
    const last = output.trim().split("\n").at(-1) ?? "";
    return { expected, got: shownAs(expected, JSON.parse(last)) };
  }
  const lines = output.split("\n");
  const expected = text.trim().split("\n");
  const got = expected.map((line) => {
    const parts = line.split("…").map((part) => part.replaceAll(/[^\w\s]/g, String.raw`\$&`));
    const pattern = new RegExp(`^${parts.join(".*")}$`);
    return lines.some((one) => pattern.test(one)) ? line : `not in ${output}`;
  });
  return { expected, got };
}

it.skipIf(!hasShell)(
  "the guide to the API runs as it is written, and shows what it answers",
  async () => {
    const server = await createServer({
      database: database.shared,
      development: true,
      env: { STRATAGRAPH_MODEL: "offline:rules" },
    });
    try {
      const { url } = await server.listen({ port: 0 });
      const blocks = await blocksOf(page);
      const commands = blocks.flatMap(({ language, text }, at) =>
        language === "sh" ? [{ text, answer: blocks[at + 1] }] : [],
      );
      expect(commands.length).toBeGreaterThan(10);
      const printed = await runBlocks(
        commands.map(({ text }) => text.replace("http://127.0.0.1:8123", url)),
        folder,
      );
      const shown = commands.flatMap(({ text, answer }, at) =>
        answer === undefined || !["json", "text"].includes(answer.language)
          ? []
          : [{ text, ...answered(printed[at] ?? "", answer) }],
      );
      expect(shown.length).toBeGreaterThan(10);
      for (const { text, expected, got } of shown) expect([text, got]).toEqual([text, expected]);
    } finally {
      await server.close(0);
    }
  },
  60_000,
);
