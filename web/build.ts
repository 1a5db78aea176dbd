import { existsSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const web = new URL("./", import.meta.url);

/** The pages that are built of these sources, with a file that each of them writes. */
const pages = [
  { config: "vite.config.ts", built: "../dist/inspector/index.html" },
  { config: "report/vite.config.ts", built: "../dist/report/report.js" },
];

/** Builds the inspector and the report into `dist`, unless no source of them is newer than what is there. */
export async function buildPages(): Promise<void> {
  const sources = readdirSync(web, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:tsx?|css|html|svg)$/.test(name) && !name.endsWith(".d.ts"))
    .map((name) => statSync(new URL(name, web)).mtimeMs);
  const newest = Math.max(...sources);
  for (const { config, built } of pages) {
    const file = new URL(built, web);
    if (existsSync(file) && statSync(file).mtimeMs > newest) continue;
    const { build } = await import("vite");
    await build({ configFile: fileURLToPath(new URL(config, web)), logLevel: "error" });
  }
}
