import { existsSync, readFileSync } from "node:fs";

/** Returns the folder of this package: the nearest one above this file with a package.json, of sources and of a build. */
export function packageFolder(): URL {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder))
    if (existsSync(new URL("package.json", folder)) || folder.pathname === "/") return folder;
}

/** Returns the version in this package's package.json. */
export function packageVersion(): string {
  const file = new URL("package.json", packageFolder());
  if (!existsSync(file)) return "unknown";
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
