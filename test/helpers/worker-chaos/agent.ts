/** The tools that a run calls, in order. Only `send` must not be called twice. */
const tools = ["note", "send", "note", "send", "note"] as const;

/** Calls of tools in a run that completes. */
export const callsOfRun = tools.length;

const steps = tools.map((tool, at) => ({
  name: `step_${at}`,
  type: "tool",
  config: { tool, args: { to: `\${input.message}:${tool}-${at}` } },
}));

/** An agent that calls its tools one after the other, with a model between them. The message of a run is its name. */
export const chaosAgent = {
  name: "chaotic",
  tools: [...new Set(tools)],
  llm_config: { default_model: "offline:rules" },
  workflow_graph: {
    entry_point: "step_0",
    nodes: [
      ...steps,
      { name: "think", type: "llm", config: { prompt: "Say what is left of ${input.message}." } },
    ],
    edges: [
      { from: "step_0", to: "step_1" },
      { from: "step_1", to: "think" },
      { from: "think", to: "step_2" },
      { from: "step_2", to: "step_3" },
      { from: "step_3", to: "step_4" },
      { from: "step_4", to: "END" },
    ],
  },
};

/** A line that a tool has written when a call began, or ended. */
export interface Effect {
  readonly what: "began" | "ended";
  readonly callId: string;
  /** Message of the run. */
  readonly run: string;
  readonly tool: string;
  /** Place of the call in the run, from 0. */
  readonly step: number;
  /** Id of the process. */
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export function readEffects(lines: readonly string[]): readonly Effect[] {
  return lines.map((line) => {
    const [what = "", callId = "", to = "", pid = "", at = ""] = line.split(" ");
    const [run = "", call = ""] = to.split(":");
    const [tool = "", step = ""] = call.split("-");
    return {
      what: what === "ended" ? what : "began",
      callId,
      run,
      tool,
      step: Number(step),
      pid: Number(pid),
      at: Number(at),
    };
  });
}
