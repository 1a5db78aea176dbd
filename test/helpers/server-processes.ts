import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { useChildren } from "./child-process.ts";
import type { TestDatabase } from "./databases.ts";
import { tempFolder } from "./temp-folder.ts";

const program = "test/server/langgraph/programs/serve.ts";

export type ServerProcess = Awaited<ReturnType<ReturnType<typeof useServerProcesses>["start"]>>;

/** Servers of one database, each in a process of its own. They end after each test. */
export function useServerProcesses(
  database: Pick<TestDatabase, "options"> & Partial<Pick<TestDatabase, "shared">>,
) {
  const spawn = useChildren();
  const log = join(tempFolder(), "letters.log");
  writeFileSync(log, "");
  return {
    /** What tools have written: `began` or `ended`, the id of the call, to whom, the id of the process and its time. */
    letters: () => readFileSync(log, "utf8").split("\n").filter(Boolean),
    /** Lets the calls of `hold` end that have the argument. */
    release: (to: string) => writeFileSync(`${log}.${to}`, ""),
    /** Starts a process that only takes runs. */
    async startWorker(settings: { readonly labels?: readonly string[] } = {}) {
      const { url } = database.options;
      const given = { databaseUrl: url, log, isWorker: true, ...settings };
      const child = spawn(program, JSON.stringify(given));
      return {
        name: await child.nextLine(),
        pid: child.pid,
        /** The state in which the next run ends there. */
        nextEnd: () => child.nextLine(),
        freeze: () => process.kill(child.pid, "SIGSTOP"),
        thaw: () => process.kill(child.pid, "SIGCONT"),
        kill: () => child.kill(),
        stop: () => child.stop(),
      };
    },
    async start(settings: { readonly concurrency?: number } = {}) {
      const { url } = database.options;
      const given = { databaseUrl: url, log, ...settings };
      const child = spawn(program, JSON.stringify(given));
      const port = Number(await child.nextLine());
      const apiUrl = `http://127.0.0.1:${port}`;
      return {
        port,
        url: apiUrl,
        client: new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } }),
        /** Sends JSON, and returns what is answered. */
        async post(path: string, body: unknown): Promise<Record<string, unknown>> {
          const headers = { "content-type": "application/json" };
          const init = { method: "POST", headers, body: JSON.stringify(body) };
          const response = await fetch(`${apiUrl}${path}`, init);
          const answer = (await response.json()) as Record<string, unknown>;
          if (!response.ok) throw new Error(`${path} answered ${JSON.stringify(answer)}`);
          return answer;
        },
        /** Ends it as kill -9 does. The leases of its runs end at once, not after 15 seconds. */
        async kill(): Promise<void> {
          await child.kill();
          await database.shared?.pool.query(
            `update stratagraph.run set lease_until = now() where state = 'running' and worker like '%-${child.pid}-%'`,
          );
        },
        stop: () => child.stop(),
      };
    },
  };
}
