import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("waits for a tool's timeout although nothing else keeps the process alive", async () => {
  const program = fileURLToPath(new URL("programs/hanging-tool.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", program]);
  expect(stdout).toBe("timeout");
});
