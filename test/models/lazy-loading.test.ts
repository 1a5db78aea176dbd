import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const reportLoads = `export async function load(url, context, next) {
  process._rawDebug(url);
  return next(url, context);
}`;
const register = `import { register } from "node:module";
register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(reportLoads))});`;

it("loads no provider, tokenizer or offline model before one is resolved", () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      "--import",
      "tsx",
      "--import",
      `data:text/javascript,${encodeURIComponent(register)}`,
      "src/models/create-models.ts",
    ],
    { cwd: root, encoding: "utf8" },
  );
  expect(status).toBe(0);
  expect(stderr).toContain("src/models/providers/openai.ts");
  expect(stderr).not.toMatch(
    /@langchain(?!\/core\/dist\/(?:utils\/uuid|_virtual)\/)|js-tiktoken|offline-model/,
  );
});
