import { createServer, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, it } from "vitest";

it("refuses every way out of this machine", async () => {
  expect(() => connect(80, "example.com")).toThrow("A test opened a connection to example.com");
  expect(() => connect({ port: 80, host: "192.0.2.1" })).toThrow("192.0.2.1");
  await expect(fetch("https://example.com/")).rejects.toMatchObject({
    cause: { message: expect.stringContaining("example.com") },
  });
});

it("lets tests talk to servers of their own", async () => {
  const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [chunk]: Buffer[] = await once(connect(port, "127.0.0.1"), "data");
  server.close();
  expect(String(chunk)).toBe("hello");
});
