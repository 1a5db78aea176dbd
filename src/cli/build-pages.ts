import { existsSync } from "node:fs";
import { packageFolder } from "../own-package.ts";

/** Builds the inspector and the page of reports in a checkout of the sources, if they are out of date. The package has them. */
export async function buildPagesFromSources(): Promise<void> {
  const builder = new URL("web/build.ts", packageFolder());
  if (!import.meta.url.endsWith(".ts") || !existsSync(builder)) return;
  const { buildPages } = (await import(builder.href)) as {
    readonly buildPages: () => Promise<void>;
  };
  await buildPages();
}
