import { createServer } from "../../src/index.ts";
import { folder, tools } from "./tools.ts";

/** Serves LangGraph's protocol without keys, on Postgres at `DATABASE_URL` or in the folder. Returns the URL. */
export async function serve(): Promise<string> {
  const server = await createServer({ development: true, folder, tools });
  const { url } = await server.listen({ port: 0 });
  return url;
}
