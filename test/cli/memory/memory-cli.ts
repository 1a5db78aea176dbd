import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runCli } from "../../../src/cli/run-cli.ts";
import { systemClock, systemIds } from "../../../src/clock.ts";
import { createMemory } from "../../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../../src/memory/store.ts";
import type { Embeddings } from "../../../src/models/embeddings/embeddings.ts";
import { useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";

/** Returns a function that opens an empty memory, and runs commands on it. */
export function useMemoryCli() {
  const folderWith = useFolders();
  return async (
    of: {
      readonly files?: Readonly<Record<string, string>>;
      readonly embeddings?: Embeddings;
      readonly hasDatabase?: boolean;
    } = {},
  ) => {
    const cwd = await folderWith(of.files ?? {});
    if (of.hasDatabase !== false) await mkdir(join(cwd, ".stratagraph"));
    const clock = systemClock;
    const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
    const memory = createMemory({ store, embeddings: of.embeddings ?? null, clock });
    const openRuntime = async () =>
      ({ memory: async () => memory, close: async () => {} }) as never;
    const cli = async (
      argv: readonly string[],
      process: Omit<Parameters<typeof memoryIo>[0], "cwd"> = {},
    ) => {
      const io = { ...memoryIo({ cwd, ...process }), openRuntime };
      const code = await runCli(["memory", ...argv], io);
      return { code, out: io.stdout.take(), errors: io.stderr.take() };
    };
    return {
      memory,
      cli,
      json: async (...argv: readonly string[]) =>
        JSON.parse((await cli([...argv, "--json"])).out) as Record<string, unknown>,
    };
  };
}

/** The namespace of agent `support`, or of one of its users. */
export function support(user?: string): readonly string[] {
  return ["agents", "support", ...(user === undefined ? [] : ["users", user])];
}
