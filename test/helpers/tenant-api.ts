import { createServer, type ServerBase, type ServerOptions } from "../../src/create-server.ts";
import type { Run } from "../../src/storage/platform/runs/runs.ts";
import type { Database } from "../../src/storage/database.ts";
import { listenForTest, type SendOptions } from "./api-server.ts";
import { ScriptedModel, type ScriptedReply } from "./scripted-model.ts";

let tenants = 0;

/** A server with keys on a database until the test ends, and a tenant of its own with a key of all scopes. */
export async function startTenantApi(
  database: Database,
  { script = [], runtime, ...options }: ServerOptions & { script?: readonly ScriptedReply[] } = {},
) {
  let parts: ServerBase | undefined;
  const model = new ScriptedModel(script);
  const server = await createServer({
    database,
    env: {},
    runtime: { models: model, ...runtime },
    routes: (base) => {
      parts = base;
      return [];
    },
    ...options,
  });
  const base = parts!;
  const { platform } = server;
  const newKey = async (scopes: readonly string[]) => {
    tenants += 1;
    const { id } = await platform.tenants.create({ name: `tenant ${tenants} ${base.ids()}` });
    const { secret } = await platform.apiKeys.create({ tenantId: id, name: "k", scopes });
    return { tenantId: id, key: secret };
  };
  const { tenantId, key } = await newKey(["*"]);
  const listening = await listenForTest(server);
  const send = (method: string, path: string, sent: SendOptions = {}) =>
    listening.send(method, path, { key, ...sent });

  /** Waits until a run is in a state. */
  const until = async (runId: string, state: string): Promise<Run> => {
    for (;;) {
      const signalled = base.signals.next(runId, { ms: 50 });
      const run = await platform.runs.get(tenantId, runId);
      if (run.state === state) return run;
      if (["complete", "failed", "cancelled", "dead"].includes(run.state))
        throw new Error(`expected ${state}, got ${run.state}: ${JSON.stringify(run.result)}`);
      await signalled;
    }
  };
  /** Runs the active version of an agent. */
  const run = async (agentId: string, input: object, state = "complete"): Promise<Run> => {
    const agent = await platform.agents.get(tenantId, agentId);
    const { id: instanceId } = await platform.instances.create(tenantId, {
      threadId: base.ids(),
      agent: agent.name,
      definitionId: agent.id,
    });
    const request = { definition_id: agent.id, turn_id: base.ids(), input };
    const { id } = await platform.runs.create(tenantId, { instanceId, request });
    base.queue.wake();
    return until(id, state);
  };
  return { server, platform, base, model, tenantId, key, newKey, send, run, until };
}
