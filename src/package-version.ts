import { existsSync, readFileSync } from "node:fs";

/** Returns the version in this package's package.json, which is the nearest one above this file, sources or build. */
export function packageVersion(): string {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    const file = new URL("package.json", folder);
    if (existsSync(file)) {
      return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
    }
    if (folder.pathname === "/") return "unknown";
  }
}
