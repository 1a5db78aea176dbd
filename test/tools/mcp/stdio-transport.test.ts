import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import { StdioTransport } from "../../../src/tools/mcp/stdio-transport.ts";

/** A server that prints every line it gets under `print`. */
const parrot = `require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(JSON.parse(line).params.print ?? "{}"));`;

const open: StdioTransport[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((transport) => transport.kill()));
});

async function started() {
  const transport = new StdioTransport(
    { command: process.execPath, args: ["-e", parrot], env: {} },
    { clock: systemClock, parse: (line) => JSON.parse(line) as JSONRPCMessage },
  );
  open.push(transport);
  await transport.start();
  const request = (id: number, print?: string) =>
    transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { print } });
  const next = () =>
    new Promise<JSONRPCMessage>((resolve) => {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no such method
      transport.onmessage = (message) => {
        if ("id" in message) resolve(message);
      };
    });
  return { transport, request, next };
}

/** Names no request, so it can be told only by there being no other. */
const broken = '{"jsonrpc":"2.0","result":{';

describe("StdioTransport", () => {
  it("takes a broken answer for the only request that is not cancelled", async () => {
    const { transport, request, next } = await started();
    await request(1);
    await transport.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1 },
    });
    const answer = next();
    await request(2, broken);
    expect(await answer).toMatchObject({ id: 2, error: { code: -31_002 } });
  });

  it("takes an id that comes back as text for the request's", async () => {
    const { request, next } = await started();
    const first = next();
    await request(1, '{"jsonrpc":"2.0","id":"1","result":{}}');
    expect(await first).toMatchObject({ id: "1" });
    const second = next();
    await request(2, broken);
    expect(await second).toMatchObject({ id: 2, error: { code: -31_002 } });
  });
});
