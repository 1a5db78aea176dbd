// Connects a server that does not listen to SIGTERM or the end of its input, and exits when it is told to.
import { once } from "node:events";
import { systemClock } from "../../../../src/clock.ts";
import { createToolServers } from "../../../../src/tools/mcp/create-tool-servers.ts";
import { createSecrets } from "../../../../src/tools/secrets.ts";
import { misbehaving } from "../misbehaving.ts";

const [file = ""] = process.argv.slice(2);
const secrets = createSecrets({ get: () => undefined });
await createToolServers({ secrets, clock: systemClock }).connect(
  misbehaving("does not end", { argument: file }),
);
console.log("connected");
await once(process.stdin, "data");
process.exit(0);
