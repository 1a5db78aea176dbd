// Starts a process that ends by nothing but a kill, prints its id, and exits when it is told to. With an argument it
// listens to that signal itself, and says so.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { hasOwnGroup, trackChild } from "../../../../src/tools/mcp/child-processes.ts";

const [signal] = process.argv.slice(2);
const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
  stdio: "ignore",
  detached: hasOwnGroup,
});
await once(child, "spawn");
trackChild(child);
if (signal !== undefined) process.on(signal, () => console.log(`heard ${signal}`));
console.log(child.pid);
await once(process.stdin, "data");
process.exit(0);
