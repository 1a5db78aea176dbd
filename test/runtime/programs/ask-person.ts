/**
 * Runs the agent of ../waiting-agent.ts in the database of its arguments until it waits, prints what waits, and stays.
 * With answers, given by node as JSON, it gives these, and prints what comes of them.
 */
import { createRuntime, executeAgent } from "../../../src/index.ts";
import { waitingAgent } from "../waiting-agent.ts";

const [database = "{}", answersByNode] = process.argv.slice(2);
const runtime = await createRuntime({
  ...(JSON.parse(database) as { databaseUrl?: string; folder?: string }),
  defaultModel: "offline:rules",
  env: {},
});
const options = { runtime, threadId: "t" };
const answers = JSON.parse(answersByNode ?? "{}") as Record<string, unknown>;
const before =
  answersByNode === undefined
    ? await executeAgent(waitingAgent, { message: "go" }, options)
    : await executeAgent(waitingAgent, null, options);
const byId = before.interrupts
  .filter(({ node }) => Object.hasOwn(answers, node))
  .map(({ id, node }) => [id, answers[node]] as const);
const { status, interrupts, output, steps } =
  byId.length === 0
    ? before
    : await executeAgent(waitingAgent, null, { ...options, answers: Object.fromEntries(byId) });
const nodes = steps.map(({ node }) => node);
console.log(JSON.stringify({ status, interrupts, output, nodes }));
process.stdin.resume();
