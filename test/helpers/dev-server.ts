import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const command = join(project, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");

export interface DevServer {
  readonly url: string;
  /** Ends the server and everything it started. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts the real `langgraph dev`, offline and without keys.
 * @param config relative to the project. The server keeps its assistants and threads in `.langgraph_api` of the
 *   configuration's folder, so that two servers at the same time need two folders.
 */
export async function startDevServer(
  env: Record<string, string> = {},
  config = "langgraph.json",
): Promise<DevServer> {
  const port = await freePort();
  const home = await mkdtemp(join(tmpdir(), "stratagraph-dev-"));
  const address = ["--host", "127.0.0.1", "--port", String(port)];
  const child = spawn(
    process.execPath,
    [command, "dev", "--config", config, "--no-browser", ...address],
    {
      cwd: project,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        LANGGRAPH_CLI_NO_ANALYTICS: "1",
        LANGSMITH_TRACING: "false",
        ...env,
      },
    },
  );
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    await endGroup(child, signal);
    await rm(home, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await listening(child, port);
  } catch (thrown) {
    await stop("SIGKILL");
    throw thrown;
  }
  return { url, stop };
}

/** Resolves when the server says that it listens; rejects with its output when it ends before that. */
function listening(child: ChildProcess, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(`Server running at`) || output.includes(`127.0.0.1:${port}/ui`))
        resolve();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => reject(new Error(`langgraph dev ended (${code}):\n${output}`)));
    child.once("error", reject);
  });
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve();
  }
  const pid = child.pid;
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    process.kill(-pid, signal);
  });
}
