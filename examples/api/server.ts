import { serve } from "@hono/node-server";
import { app, server } from "./app.ts";

const port = Number(process.env["PORT"] ?? 8123);
const listening = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, (address) =>
  console.log(`Listening on http://127.0.0.1:${address.port}`),
);

process.once("SIGTERM", () => {
  listening.close();
  // Finishes the runs under way, or hands them over to the next start.
  void server.close().then(() => process.exit(0));
});
