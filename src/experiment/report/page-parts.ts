import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { joinModules } from "./join-modules.ts";

const page = new URL("./page/", import.meta.url);
const readPage = (file: string) => readFileSync(new URL(file, page), "utf8");

/** The page's own script. */
export function pageScript(): string {
  return joinModules("main", (name) => readPage(`${name}.js`));
}

/** In the order in which later rules go before earlier ones. */
const styles = ["base", "tables", "plots", "reflections", "details", "narrow", "print"];

export function pageStyle(): string {
  return styles.map((name) => readPage(`${name}.css`)).join("\n");
}

/** A script of others, and the licence that has to go with it. */
export interface LibraryScript {
  readonly script: string;
  readonly licence: string;
}

const require = createRequire(import.meta.url);

/** D3, and Plot which is made on it, as scripts that need nothing else. */
export function plotScripts(): readonly LibraryScript[] {
  const d3 = dirname(require.resolve("d3"));
  const plot = join(dirname(require.resolve("@observablehq/plot")), "../dist");
  return [join(d3, "d3.min.js"), join(plot, "plot.umd.min.js")].map((path) => ({
    script: readFileSync(path, "utf8"),
    licence: readFileSync(join(dirname(path), "../LICENSE"), "utf8"),
  }));
}
