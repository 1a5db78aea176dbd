/**
 * Writes `api/schema.d.ts`: the types of the HTTP API, from its OpenAPI document. The page and the server cannot differ
 * without an error of types.
 */
import { writeFile } from "node:fs/promises";
import openapiTypes, { astToString } from "openapi-typescript";
import { apiRoutes } from "../src/server/api-routes.ts";
import { createServerWith, type ServerParts } from "../src/server/create-server.ts";

// Routes are described without a database: nothing handles a request here but the one for the document.
const server = createServerWith({
  authentication: { development: { tenantId: "" } },
  agents: {} as ServerParts["agents"],
  idempotency: null,
  tenantLimits: null,
  readiness: [],
  version: "0",
  routes: apiRoutes({ platform: {}, signals: {} } as Parameters<typeof apiRoutes>[0]),
});
const answer = await server.fetch(new Request("http://127.0.0.1/v1/openapi.json"));
const types = await openapiTypes((await answer.json()) as never);
await writeFile(new URL("api/schema.d.ts", import.meta.url), astToString(types));
await server.close();
