import { join } from "node:path";
import { agentTools } from "../../compile/agent-setup.ts";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import { checkDefinition } from "../../definition/check/check-definition.ts";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import { type AgentTool, isClientTool } from "../../definition/tool/tool.ts";
import { compileTemplate, type Template } from "../../expression/template.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { OllamaClientConfig } from "../../models/agent-model.ts";
import { renderTextFormInstructions } from "../../models/text-form/text-form.ts";
import { toModelTool, UnknownToolError } from "../../tools/registry.ts";
import { configHash, experimentToolNames, type RunSpec } from "../config/run-spec.ts";
import { promptScope } from "../config/experiment-schema.ts";
import { ExperimentToolError } from "../errors.ts";
import { LogFile } from "../log/log-file.ts";
import type { ExperimentMemory, RunMemory } from "../memory/run-memory.ts";
import { experimentTools } from "../tools.ts";

/** What experiments need from the outside. */
export interface ExperimentServices extends CompileServices {
  readonly experimentMemory: ExperimentMemory;
}

/** All that the nodes of one run work with. */
export interface RunResources {
  readonly run: RunSpec;
  readonly configHash: string;
  readonly model: AgentModel;
  readonly memory: RunMemory;
  readonly log: LogFile;
  /** Of the runtime, servers and packages. */
  readonly otherTools: ReadonlyMap<string, AgentTool>;
  /** These and the experiment's own, as replies are read by them. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** The tools as described to the model. Always the same array, by which bindings are cached. */
  readonly modelTools: readonly ModelTool[];
  /** How to call tools in text. */
  readonly toolInstructions: string;
  readonly cyclePrompt: Template;
}

/**
 * @param logFolder absolute
 * @throws what resolving its model, its tools and its secrets throws; ExperimentToolError
 */
export async function openRunResources(
  run: RunSpec,
  services: ExperimentServices,
  logFolder: string,
): Promise<RunResources> {
  const memory = services.experimentMemory.of(run.run_id);
  const otherTools = await toolsBeside(run, services);
  const own = experimentTools({ memory, nextChange: () => 0 }).filter(({ definition: { name } }) =>
    run.tools.includes(name),
  );
  const tools = new Map([
    ...own.map((tool) => [tool.definition.name, tool] as const),
    ...otherTools,
  ]);
  const modelTools = [...tools.values()].map(toModelTool);
  const cyclePrompt = compileTemplate(run.cycle_prompt, promptScope);
  if (!cyclePrompt.ok) throw new TypeError("A checked config has a template that cannot be read.");
  const { clock } = services;
  return {
    run,
    configHash: configHash(run),
    model: await services.models.resolve({
      ...run.model_options,
      default_model: run.model_name,
      ...(await clientConfig(run, services)),
    }),
    memory,
    log: new LogFile({
      path: logPath(logFolder, run.run_id),
      runId: run.run_id,
      now: () => clock.now(),
    }),
    otherTools,
    tools,
    modelTools,
    toolInstructions: renderTextFormInstructions(modelTools),
    cyclePrompt: cyclePrompt.value,
  };
}

export function logPath(logFolder: string, runId: string): string {
  return join(logFolder, `${runId}.jsonl`);
}

/** Tools that agents of any kind have, found as theirs are. */
async function toolsBeside(
  { tools, permissions }: RunSpec,
  services: ExperimentServices,
): Promise<ReadonlyMap<string, AgentTool>> {
  const others = tools.filter(
    (tool) => typeof tool !== "string" || !experimentToolNames.includes(tool),
  );
  if (others.length === 0) return new Map();
  const checked = checkDefinition({ name: "experiment", tools: others, permissions });
  if (!checked.ok) throw new InvalidDefinitionError(checked.problems);
  const found = await agentTools(buildDefinition({ spec: checked.spec }), services).catch(
    (thrown: unknown) => {
      if (!(thrown instanceof UnknownToolError)) throw thrown;
      throw new UnknownToolError(thrown.toolName, [...experimentToolNames, ...thrown.known]);
    },
  );
  for (const [name, tool] of found) {
    const { kind, definition } = tool;
    if (experimentToolNames.includes(name)) {
      throw new ExperimentToolError(name, "it has the name of one of the experiment's own tools");
    }
    if (kind === "stateful") {
      throw new ExperimentToolError(name, "it keeps state, which cycles do not have");
    }
    if (isClientTool(tool)) {
      throw new ExperimentToolError(name, "its caller runs it, and an experiment runs unattended");
    }
    if (definition.requires_approval) {
      throw new ExperimentToolError(
        name,
        "a person must approve its calls, and an experiment runs unattended",
      );
    }
  }
  return found;
}

/** With its secrets put in. */
async function clientConfig(
  { ollama_client_config: config }: RunSpec,
  { secrets }: ExperimentServices,
): Promise<{ readonly ollama_client_config?: OllamaClientConfig }> {
  if (config === null) return {};
  const { headers = {}, ...rest } = config;
  const resolved = await Promise.all(
    Object.entries(headers).map(async ([name, text]) => {
      return [name, (await secrets?.resolve(text)) ?? text] as const;
    }),
  );
  const given = resolved.length > 0 && { headers: Object.fromEntries(resolved) };
  return { ollama_client_config: { ...rest, ...given } };
}
