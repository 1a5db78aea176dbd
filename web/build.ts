import { existsSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const web = new URL("./", import.meta.url);
const built = new URL("../dist/inspector/index.html", import.meta.url);

/** Builds the inspector into `dist/inspector`, unless no source of it is newer than what is there. */
export async function buildInspector(): Promise<void> {
  const sources = readdirSync(web, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:tsx?|css|html|svg)$/.test(name) && !name.endsWith(".d.ts"))
    .map((name) => statSync(new URL(name, web)).mtimeMs);
  if (existsSync(built) && statSync(built).mtimeMs > Math.max(...sources)) return;
  const { build } = await import("vite");
  const configFile = fileURLToPath(new URL("vite.config.ts", web));
  await build({ configFile, logLevel: "error" });
}
