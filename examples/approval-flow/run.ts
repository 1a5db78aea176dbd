/**
 * Starts a run in one process and answers it from others, by the thread's id alone:
 *
 *   npx tsx examples/approval-flow/run.ts start chairs-2 "Office chairs"
 *   npx tsx examples/approval-flow/run.ts answer chairs-2 '{"pieces": 4, "price": 120}'
 *   npx tsx examples/approval-flow/run.ts answer chairs-2 true
 */
import { fileURLToPath } from "node:url";
import { createRuntime, executeAgent, loadAgent } from "../../src/index.ts";

const [command, threadId = "", text = ""] = process.argv.slice(2);

const agent = await loadAgent(fileURLToPath(new URL("agent.yaml", import.meta.url)));
const runtime = await createRuntime({ folder: ".stratagraph" });
const result =
  command === "start"
    ? await executeAgent(agent, { message: text }, { runtime, threadId })
    : await executeAgent(agent, null, { runtime, threadId, answer: JSON.parse(text) });
for (const { kind, prompt, proposed } of result.interrupts) {
  console.log(`${result.status} ${kind}: ${prompt}`, ...(proposed === null ? [] : [proposed]));
}
if (result.interrupts.length === 0) console.log(result.status, result.output);
await runtime.close();
