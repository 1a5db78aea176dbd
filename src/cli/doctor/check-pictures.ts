import { createRequire } from "node:module";
import { BrowserNotFoundError } from "../draw/errors.ts";
import { findBrowser } from "../draw/find-browser.ts";
import type { CliIo } from "../io.ts";
import { ok, warning, type Finding } from "./finding.ts";

const about = { check: "pictures", subject: "" };
const packages = {
  "playwright-core": "playwright-core",
  "@mermaid-js/tiny": "@mermaid-js/tiny/dist/mermaid.tiny.js",
};

/** What `graph` needs to draw SVG and PNG, and nothing else does. */
export async function checkPictures({
  env,
  cwd,
}: Pick<CliIo, "env" | "cwd">): Promise<readonly Finding[]> {
  const require = createRequire(import.meta.url);
  const missing = Object.entries(packages)
    .filter(([, file]) => !resolves(require, file))
    .map(([name]) => name);
  if (missing.length > 0) {
    const names = missing.join(", ");
    const fix = `npm install --save-dev ${missing.join(" ")}`;
    return [warning(about, `graph draws no SVG and PNG without ${names}.`, fix)];
  }
  try {
    const { platform } = process;
    const browser = await findBrowser({ given: undefined, env, platform, cwd });
    return [ok(about, `graph draws SVG and PNG in ${browser}.`)];
  } catch (thrown) {
    if (!(thrown instanceof BrowserNotFoundError)) throw thrown;
    const message = "graph draws no SVG and PNG without Chromium or Chrome.";
    return [warning(about, message, "Install one, or say where it is in CHROMIUM_PATH.")];
  }
}

function resolves(require: NodeJS.Require, file: string): boolean {
  try {
    require.resolve(file);
    return true;
  } catch {
    return false;
  }
}
