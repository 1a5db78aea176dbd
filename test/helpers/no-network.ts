import { Socket } from "node:net";

// Runs before every test file: a connection that would leave this machine fails at once and says to where.
const connect: unknown = Reflect.get(Socket.prototype, "connect");
if (typeof connect !== "function") throw new TypeError("node:net has no Socket.prototype.connect");

/** Marks a `connect` that is guarded: files of one process share the prototype. */
const guarded = Symbol.for("stratagraph.no-network");

if (!Reflect.has(connect, guarded)) {
  const guard = function (this: Socket, ...args: unknown[]): unknown {
    const host = targetHost(args);
    if (host !== undefined && !isLoopback(host)) {
      throw new Error(`A test opened a connection to ${host}. Tests reach this machine only.`);
    }
    return Reflect.apply(connect, this, args);
  };
  Reflect.set(Socket.prototype, "connect", Object.assign(guard, { [guarded]: true }));
}

/** The host in any form of `connect`'s arguments; node:net itself passes them on as one array. */
function targetHost(args: readonly unknown[]): string | undefined {
  const [target, second]: readonly unknown[] = Array.isArray(args[0]) ? args[0] : args;
  const isOptions = typeof target === "object" && target !== null && "host" in target;
  const host = isOptions ? target.host : second;
  return typeof host === "string" ? host : undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
