import { rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { consolidationKillContract } from "../../contract/consolidation-kills.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";

let folder: string;
beforeAll(async () => {
  folder = await newDatabaseFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

consolidationKillContract({ kind: "pglite", available: true, options: () => ({ folder }) });
