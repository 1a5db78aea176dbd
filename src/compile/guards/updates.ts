import { isCommand } from "@langchain/langgraph";
import type { z } from "zod";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { SchemaCheck } from "../../definition/schema/json-schema.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import type { GraphState } from "../../state/channels.ts";
import { isTerminal } from "../../state/lifecycle.ts";
import { checkJson } from "../../state/tiers.ts";
import { isRecord } from "../../values/json.ts";
import { updateSchemas } from "./update-schemas.ts";

/** The parts of a LangGraph channel that a tentative update needs. */
export interface TriedChannel {
  fromCheckpoint(value: unknown): TriedChannel;
  update(values: unknown[]): boolean;
  isAvailable(): boolean;
  get(): unknown;
}

/** An agent's graph, as far as its state is concerned. */
export interface UpdatableAgent {
  readonly definition: AgentDefinition;
  readonly channels: Readonly<Record<string, unknown>>;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the state after an edit, each channel merged by its reducer. Nothing is written.
 *
 * @param update by channel, as a node returns it; also a Command, or a list of pairs
 * @returns the changed channels, with their new values
 * @throws InvalidStateUpdateError with every problem
 */
export function tryUpdate(agent: UpdatableAgent, current: Values, update: unknown): Values {
  const problems: UpdateProblem[] = [];
  const changed: Record<string, unknown> = {};
  for (const [channel, value] of writesIn(update)) {
    const found = isChannel(channel)
      ? tryChannel(agent, channel, { current: { ...current, ...changed }, value })
      : { problems: [unknownChannel(channel)] };
    problems.push(...found.problems);
    if ("value" in found) changed[channel] = found.value;
  }
  if (problems.length > 0) throw new InvalidStateUpdateError(problems);
  return changed;
}

/**
 * Returns the writes of an update, by channel. LangGraph ignores null.
 *
 * @throws InvalidStateUpdateError
 */
export function writesIn(update: unknown): readonly (readonly [string, unknown])[] {
  const values: unknown = isCommand(update) ? update.update : update;
  if (values === null || values === undefined) return [];
  if (isRecord(values)) return Object.entries(values);
  const isPair = (one: unknown) => Array.isArray(one) && one.length === 2;
  if (Array.isArray(values) && values.every(isPair)) return values as [string, unknown][];
  const message = "expected an object with the new values by channel";
  throw new InvalidStateUpdateError([{ channel: "(state)", message }]);
}

type Channel = keyof GraphState;
const channelNames = Object.keys(updateSchemas);

function isChannel(name: string): name is Channel {
  return Object.hasOwn(updateSchemas, name);
}

function unknownChannel(channel: string): UpdateProblem {
  const suggestion = nearestName(channel, channelNames);
  const message =
    suggestion === undefined
      ? `there is no such channel; there are ${channelNames.join(", ")}`
      : "there is no such channel";
  return { channel, message, suggestion };
}

type Tried =
  | { readonly problems: readonly UpdateProblem[] }
  | { readonly problems: readonly UpdateProblem[]; readonly value: unknown };

function tryChannel(
  { definition, channels }: UpdatableAgent,
  channel: Channel,
  { current, value }: { current: Values; value: unknown },
): Tried {
  const refuse = (...messages: readonly string[]): Tried => {
    return { problems: messages.map((message) => ({ channel, message })) };
  };
  const overwritten = overwrittenWith(channels[channel], value);
  const parsed = updateSchemas[channel].safeParse(overwritten === null ? value : overwritten.value);
  if (!parsed.success) return refuse(...issuesOf(parsed.error));
  const { status } = current as Partial<GraphState>;
  if (channel === "status" && overwritten === null && status !== undefined && value !== status) {
    if (isTerminal(status)) return refuse(`the turn has ended ${status}, and stays so`);
  }
  let after: unknown;
  try {
    const tried = (channels[channel] as TriedChannel).fromCheckpoint(current[channel]);
    tried.update([value]);
    after = tried.isAvailable() ? tried.get() : undefined;
  } catch (thrown) {
    return refuse(errorMessage(thrown).split("\n")[0] ?? "");
  }
  if (channel === "execution" || channel === "attempt") {
    const json = checkJson(after, channel);
    if (!json.ok) return refuse(`${json.path} is ${json.found}, which is not JSON`);
  }
  const issues = schemaOf(definition, channel, after)?.check(after);
  return issues?.ok === false ? refuse(...issues.issues) : { problems: [], value: after };
}

/** Reads a value that bypasses the reducer: LangGraph's `Overwrite`, also as JSON. */
function overwrittenWith(channel: unknown, value: unknown): { readonly value: unknown } | null {
  if (!isRecord(value) || !isRecord(channel) || !("operator" in channel)) return null;
  if (overwrite in value) return { value: value[overwrite] };
  return value["type"] === overwrite && "value" in value ? { value: value["value"] } : null;
}

const overwrite = "__overwrite__";

/** Returns the definition's schema of a channel. */
function schemaOf(
  { input, output, behaviour }: AgentDefinition,
  channel: Channel,
  value: unknown,
): SchemaCheck | undefined {
  if (value === null || value === undefined) return undefined;
  switch (channel) {
    case "input":
      return input;
    case "output":
      return output;
    case "execution":
      return behaviour.executionSchema;
    case "attempt":
      return behaviour.attemptSchema;
    default:
      return undefined;
  }
}

/** Maximum number of issues reported per channel. */
const maxIssues = 5;

function issuesOf({ issues }: z.ZodError): readonly string[] {
  const said = issues.slice(0, maxIssues).map(({ path, message }) => {
    const at = path.map(String).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  const more = issues.length - said.length;
  return more > 0 ? [...said, `and ${more} more`] : said;
}

/** A problem with the update of one channel. */
export interface UpdateProblem {
  readonly channel: string;
  readonly message: string;
  /** The nearest channel name, if the channel is unknown. */
  readonly suggestion?: string | undefined;
}

/** A state update is invalid. Nothing was written. */
export class InvalidStateUpdateError extends StratagraphError {
  readonly code = "invalid_state_update";

  constructor(readonly problems: readonly UpdateProblem[]) {
    const list = problems.map(({ channel, message, suggestion }) => {
      const meant = suggestion === undefined ? "" : ` (did you mean "${suggestion}"?)`;
      return `${channel}: ${message}${meant}`;
    });
    super(`The state cannot be updated like this: ${list.join("; ")}. Nothing was written.`);
  }
}
