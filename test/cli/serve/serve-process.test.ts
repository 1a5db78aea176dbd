import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { bundledProgram, shortLived } from "../../helpers/programs.ts";
import { useFolders } from "../folder.ts";

const folder = useFolders();
const started: ChildProcess[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
});

/** Starts `stratagraph serve` in a process of its own. */
async function serve() {
  const cwd = await folder({});
  copyDatabase(join(cwd, ".stratagraph", "database"));
  const child = spawn(
    process.execPath,
    [shortLived, bundledProgram("src/cli/main.ts"), "serve", "--dev", "--port", "0"],
    { cwd, env: { PATH: process.env["PATH"] }, stdio: ["ignore", "pipe", "pipe"] },
  );
  started.push(child);
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (printed.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (printed.stderr += String(chunk)));
  const exited = once(child, "exit");
  const port = await vi.waitFor(() => {
    const [, found] = /Listening on \S+:(\d+)\n/.exec(printed.stdout) ?? [];
    if (found === undefined || !printed.stdout.includes("Reference:"))
      throw new Error(printed.stderr || "not listening yet");
    return Number(found);
  }, 60_000);
  return { child, printed, exited, port };
}

/** Begins to create an agent: the server has the headers, and waits for the body. */
async function beginRequest(port: number, body: string) {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  let received = "";
  socket.on("data", (chunk) => (received += String(chunk)));
  socket.on("error", () => {}); // The process may end first.
  const closed = once(socket, "close");
  const lines = [
    "POST /v1/agents HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Expect: 100-continue",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await vi.waitFor(() => expect(received).toContain("100 Continue"), 60_000);
  return {
    async finish() {
      socket.write(body);
      await closed;
      return received;
    },
  };
}

/** The code with which a new connection is refused. */
async function refusalOf(port: number): Promise<string | undefined> {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  return new Promise((resolve) => {
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.on("connect", () => resolve(undefined));
  });
}

describe("the process of stratagraph serve", () => {
  it("answers the request under way after SIGTERM, takes no new connection, and ends with 0", async () => {
    const { child, exited, port, printed } = await serve();
    const request = await beginRequest(port, '{"name":"helper"}');
    child.kill("SIGTERM");
    await vi.waitFor(async () => expect(await refusalOf(port)).toBe("ECONNREFUSED"), 60_000);
    expect(child.exitCode).toBeNull();
    const answer = await request.finish();
    expect(answer).toMatch(/HTTP\/1\.1 201 /);
    expect(answer).toContain('"name":"helper"');
    expect(answer.toLowerCase()).toMatch(/^connection: close\r$/m);
    expect(await exited).toEqual([0, null]);
    expect(printed.stderr).toContain('"reason":"SIGTERM"');
    expect(printed.stderr).not.toContain('"level":50');
  });

  it("ends at once after a second SIGTERM", async () => {
    const { child, exited, port } = await serve();
    await beginRequest(port, '{"name":"helper"}');
    child.kill("SIGTERM");
    await vi.waitFor(async () => expect(await refusalOf(port)).toBe("ECONNREFUSED"), 60_000);
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
  });
});
