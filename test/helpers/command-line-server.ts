import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabases, type OpenDatabases } from "./open-databases.ts";
import { memoryIo } from "../cli/memory-io.ts";

interface Asked {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

/** Command lines that run in this process, which has loaded the code already. */
export interface CommandLineServer {
  /** Where test/e2e/programs/ask-command-line.mjs finds it. */
  readonly socket: string;
  close(): Promise<void>;
}

/** @param cwd of the commands, and where the socket is */
export async function serveCommandLines(cwd: string): Promise<CommandLineServer> {
  const socket = join(cwd, "command-line.sock");
  const databases = openDatabases();
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    void answer(connection, cwd, databases).catch((thrown: unknown) =>
      connection.destroy(thrown as Error),
    );
  }).listen(socket);
  await once(server, "listening");
  return {
    socket,
    async close() {
      server.close();
      await once(server, "close");
      await databases.release();
    },
  };
}

async function answer(connection: Socket, cwd: string, databases: OpenDatabases): Promise<void> {
  // The other half stays open for the answer.
  const asked = await text(connection.iterator({ destroyOnReturn: false }));
  const { argv, env, stdin } = JSON.parse(asked) as Asked;
  // Another process opens the database next.
  if (argv[0] === "--release") {
    await databases.release();
    connection.end(JSON.stringify({ stdout: "", stderr: "", code: 0 }));
    return;
  }
  await databases.hold(cwd);
  const io = { ...memoryIo({ cwd, stdin: [Buffer.from(stdin)] }), env };
  const code = await runCli(argv, io);
  connection.end(JSON.stringify({ stdout: io.stdout.take(), stderr: io.stderr.take(), code }));
}
