import { Hono } from "hono";
import { createServer } from "../../src/index.ts";

/** Without keys, for programs of this machine. Agents, threads and memories are stored in the folder. */
export const server = await createServer({
  development: true,
  folder: process.env["DATA"] ?? ".stratagraph",
  // `langgraph dev` speaks LangGraph's protocol itself.
  langgraph: false,
  inspector: "/stratagraph",
});

/** An app with a route of its own, and the API. `langgraph.json` mounts it as `http.app`. */
export const app = new Hono().get("/hello", (context) => context.text("Hello"));
app.route("/", server.app);
