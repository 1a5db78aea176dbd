import { type CliIo, UsageError } from "../io.ts";
import { resolve } from "node:path";
import {
  compileAgent,
  createRuntime,
  prepareServices,
  type PreparedServices,
  type RuntimeOptions,
} from "../../app.ts";
import { checkInput } from "../../compile/input.ts";
import { type AgentDefinition, mayCallModel } from "../../definition/agent-definition.ts";
import type { ToolCallResult } from "../../runtime/execute-agent.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import { parseAnswerOptions, type AnswerTexts } from "../ask/given-answers.ts";
import { existingFolder, loadDefinition, loadTools } from "../load.ts";
import { readInput, readToolResults } from "../input.ts";
import type { AgentOptions, RunArguments } from "../options.ts";

/** An agent of which everything was checked that can be without a database. */
export interface PreparedAgent {
  readonly definition: AgentDefinition;
  /** `provider:model` that will be asked; null where the agent asks none. */
  readonly model: string | null;
  /** What the run's runtime is made of. */
  readonly services: RuntimeServices;
}

/** With servers that run already, so that they are started once. A runtime made of it closes them. */
export type RuntimeServices = RuntimeOptions & { readonly prepared?: PreparedServices };

/** Ends what was started for an agent after `use`, also where that came to no runtime. */
export async function withPrepared<Result>(
  prepared: PreparedAgent | null,
  use: () => Promise<Result>,
): Promise<Result> {
  try {
    return await use();
  } finally {
    await prepared?.services.prepared?.close();
  }
}

export interface PreparedRun extends PreparedAgent {
  /** Null to resume. */
  readonly input: unknown;
  /** What `--answer` says, or null. */
  readonly answers: AnswerTexts | null;
  /** The value of `--tool-results`, or null. */
  readonly toolResults: readonly ToolCallResult[] | null;
}

/**
 * Loads and checks all that a run needs. Writes nothing.
 * @throws what any part of the definition, the input or the options being wrong throws
 */
export async function prepareRun(given: RunArguments, io: CliIo): Promise<PreparedRun> {
  const { message, input: json, thread } = given;
  const answers = answersIn(given);
  checkResumes(given, "--tool-results", given.toolResults);
  if (answers !== null && given.toolResults !== undefined) {
    throw new UsageError("Give either --answer or --tool-results, not both.");
  }
  if (thread !== undefined && !given.save) {
    throw new UsageError(
      "--thread needs the database, which --no-save disables. Drop one of them.",
    );
  }
  if (thread !== undefined) checkThreadId(thread);
  const prepared = await prepareAgent(given, io);
  try {
    const input = await readInput({ message, input: json, thread, stdin: io.stdin });
    if (input !== null) checkInput(prepared.definition, input);
    const toolResults =
      given.toolResults === undefined ? null : await readToolResults(given.toolResults, io);
    return { ...prepared, input, answers, toolResults };
  } catch (thrown) {
    await prepared.services.prepared?.close();
    throw thrown;
  }
}

/**
 * Loads and checks an agent, its tools and its model. Writes nothing.
 * @throws what any part of the definition or the options being wrong throws
 */
export async function prepareAgent(
  given: AgentOptions & { readonly agent: string },
  io: CliIo,
): Promise<PreparedAgent> {
  const { agent, model, temperature } = given;
  const definition = await loadDefinition(agent, io.cwd);
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const root = resolve(io.cwd, given.root ?? ".");
  if (given.root !== undefined) await existingFolder(root, given.root);

  const prepared = await prepareServices({ tools, root, env: io.env });
  try {
    const trial = await createRuntime({ checkpointer: false, prepared });
    await compileAgent(definition, trial);
    const resolved = await trial.models.resolve({
      ...definition.spec.llm_config,
      ...(model !== undefined && { default_model: model }),
      ...(temperature !== undefined && { temperature }),
    });
    const services = { tools, root, env: io.env, prepared };
    return { definition, model: mayCallModel(definition) ? resolved.ref : null, services };
  } catch (thrown) {
    await prepared.close();
    throw thrown;
  }
}

/** @throws UsageError */
function answersIn(given: RunArguments): AnswerTexts | null {
  checkResumes(given, "--answer", given.answer);
  return given.answer === undefined ? null : parseAnswerOptions(given.answer);
}

/** @throws UsageError for an option that resumes a thread, if none is resumed */
function checkResumes(
  { message, input, thread }: RunArguments,
  option: "--answer" | "--tool-results",
  value: unknown,
): void {
  if (value === undefined) return;
  if (thread !== undefined && message === undefined && input === undefined) return;
  throw new UsageError(
    `${option} resumes a waiting thread: give --thread, and neither MESSAGE nor --input.`,
  );
}
