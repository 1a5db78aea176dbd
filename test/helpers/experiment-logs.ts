import {
  cycleMetrics,
  type LogEntry,
  type LoggedUsage,
} from "../../src/experiment/log/log-entry.ts";

/** A call of a tool; its output is `{ ok: true }` where none is said. */
export interface MadeCall {
  readonly tool: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly output?: unknown;
}

export interface MadeCycle {
  readonly calls?: readonly MadeCall[];
  readonly reflection?: string;
  /** Seconds that it takes; 10 where none are said. */
  readonly seconds?: number;
}

export interface MadeRun {
  readonly run_id: string;
  readonly model_name?: string;
  readonly seed?: number | null;
  readonly prompt_name?: string | null;
  readonly config_hash?: string;
  /** Of each answer; left out as in logs of earlier versions. */
  readonly usage?: LoggedUsage;
  readonly cycles: readonly MadeCycle[];
}

/** When a made run begins. */
const runStart = "2026-11-20T08:00:00.000Z";

export const write = (key: string, value: string): MadeCall => ({
  tool: "memory_write",
  parameters: { key, value },
});
export const remove = (key: string): MadeCall => ({ tool: "memory_delete", parameters: { key } });
export const message = (text: string): MadeCall => ({
  tool: "message_operator",
  parameters: { message: text },
});

/**
 * The entries of a whole run: a cycle asks for its calls in one answer, gets them, and reflects. A cycle begins a second
 * after the one before has ended.
 */
export function madeEntries(run: MadeRun): LogEntry[] {
  const { run_id, model_name = "ollama:llama3:latest", seed = 1, prompt_name = null } = run;
  const entries: LogEntry[] = [];
  const keys = new Set<string>();
  let time = Date.parse(runStart);
  run.cycles.forEach((cycle, index) => {
    const { calls = [], reflection = `Reflection ${index + 1}.`, seconds = 10 } = cycle;
    const head = (at: number) => ({
      timestamp: new Date(at).toISOString(),
      run_id,
      cycle_number: index + 1,
    });
    const asked = calls.map(({ tool, parameters = {} }, place) => ({
      id: `call_${place + 1}`,
      name: tool,
      args: parameters,
    }));
    const prompt_messages = [{ role: "user" as const, content: `Cycle ${index + 1}.` }];
    const invocation = (content: string, tool_calls: typeof asked): LogEntry => ({
      ...head(time),
      event_type: "LLM_INVOCATION",
      payload: {
        prompt_messages,
        response_message: {
          role: "assistant",
          content,
          ...(tool_calls.length > 0 ? { tool_calls } : {}),
        },
        model_options: { seed },
        ...(run.usage !== undefined && { usage: run.usage }),
      },
    });
    const began: LogEntry = {
      ...head(time),
      event_type: "CYCLE_START",
      payload: {
        model_name,
        seed,
        prompt_name,
        config_hash: run.config_hash ?? "0".repeat(64),
        memory_keys: [...keys].toSorted(),
      },
    };
    const within: LogEntry[] = [
      ...(asked.length > 0 ? [invocation("", asked)] : []),
      ...calls.map(({ tool, parameters = {}, output = { ok: true } }): LogEntry => ({
        ...head(time),
        event_type: "TOOL_CALL",
        payload: { tool_name: tool, parameters, output },
      })),
      invocation(reflection, []),
    ];
    for (const { tool, parameters, output } of calls) {
      if (output !== undefined) continue;
      if (tool === "memory_write") keys.add(String(parameters?.["key"]));
      if (tool === "memory_delete") keys.delete(String(parameters?.["key"]));
    }
    time += seconds * 1000;
    const ended: LogEntry = {
      ...head(time),
      event_type: "CYCLE_END",
      payload: { final_reflection: reflection, metrics: cycleMetrics(within) },
    };
    time += 1000;
    entries.push(began, ...within, ended);
  });
  return entries;
}

/** Entries, and texts that stand for themselves, as the lines of a file. */
export function asLines(entries: readonly (LogEntry | string)[]): string {
  return entries
    .map((entry) => `${typeof entry === "string" ? entry : JSON.stringify(entry)}\n`)
    .join("");
}

/** The log of a whole run. */
export function madeLog(run: MadeRun): string {
  return asLines(madeEntries(run));
}
