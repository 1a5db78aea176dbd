import { rm } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { PendingRequest } from "../../src/state/human-request.ts";
import type { Database } from "../../src/storage/database.ts";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { useDatabase } from "../helpers/databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";

interface Told {
  readonly status: string;
  readonly interrupts: readonly PendingRequest[];
  readonly output: unknown;
  readonly nodes: readonly string[];
}

/** How another process answers what one that was killed has asked, on any database that keeps threads. */
export function answeringContract(kind: Database["kind"]): void {
  const database = kind === "postgres" ? useDatabase(kind) : null;
  const run = useChildren();
  const folders: string[] = [];
  afterEach(async () => {
    await Promise.all(folders.splice(0).map((made) => rm(made, { recursive: true, force: true })));
  });
  const newFolder = async () => {
    const folder = await newDatabaseFolder();
    folders.push(folder);
    return { folder };
  };

  describe.skipIf(database?.available === false)(
    `a thread on ${kind} whose process was killed`,
    () => {
      it("is answered from others, and runs nothing twice", async () => {
        const where = database === null ? await newFolder() : { databaseUrl: database.options.url };
        const program = "test/runtime/programs/ask-person.ts";
        const next = async (...answers: string[]): Promise<Told> => {
          const child: Child = run(program, JSON.stringify(where), ...answers);
          const told = JSON.parse(await child.nextLine()) as Told;
          await child.kill();
          return told;
        };
        const asked = await next();
        expect(asked.status).toBe("AWAITING_HUMAN");
        expect(asked.interrupts.map(({ node, prompt }) => [node, prompt])).toEqual([
          ["allow", "May it?"],
          ["name", "Whose?"],
        ]);
        expect(asked.nodes).toEqual(["clock", "beside"]);

        const halfway = await next('{"name":"Ada"}');
        expect(halfway.interrupts).toEqual([asked.interrupts[0]]);

        const done = await next('{"allow":true}');
        expect(done).toEqual({
          status: "COMPLETED",
          interrupts: [],
          output: { message: "Ada" },
          nodes: ["clock", "beside"],
        });
      });
    },
  );
}
