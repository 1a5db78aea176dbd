import { completions, completionsUsage } from "./openai.ts";
import type { Refusal } from "./script.ts";

/**
 * Groq's chat completions: `reasoning` for what the model thought, times among the usage, which a stream has in
 * `x_groq` of its last chunk as well.
 */
export const groq = completions({
  path: "/openai/v1/chat/completions",
  finishes: { stop: "stop", length: "length" },
  reasoningField: "reasoning",
  callId: (number) => `call_groq${number}`,
  usage: (usage) => ({ queue_time: 0.01, ...completionsUsage(usage), total_time: 0.05 }),
  first: { x_groq: { id: "req_1" } },
  last: (usage) => ({
    x_groq: { id: "req_1", ...(usage && { usage: completionsUsage(usage) }) },
  }),
  usageChunk: true,
  refusal: (kind) => refusals[kind] ?? null,
});

function refused(status: number, message: string, type: string, more: object = {}) {
  return { status, body: { error: { message, type, ...more } } };
}

const refusals: Partial<Record<Refusal, ReturnType<typeof refused>>> = {
  auth: refused(401, "Invalid API Key", "invalid_request_error", { code: "invalid_api_key" }),
  forbidden: refused(
    403,
    "The model `openai/gpt-oss-120b` is blocked at the organization level. Please have the org admin enable this model.",
    "permissions_error",
    { code: "model_permission_blocked_org" },
  ),
  no_model: refused(
    404,
    "The model `llama-0` does not exist or you do not have access to it.",
    "invalid_request_error",
    { code: "model_not_found" },
  ),
  invalid: refused(400, "'temperature' : number must be at most 2", "invalid_request_error"),
  rate_limit: refused(
    429,
    "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Used 11000, Requested 2000. Please try again in 5s.",
    "tokens",
    { code: "rate_limit_exceeded" },
  ),
  overflow: refused(
    400,
    "Please reduce the length of the messages or completion.",
    "invalid_request_error",
    { param: "messages", code: "context_length_exceeded" },
  ),
  server: refused(500, "Internal Server Error", "internal_server_error"),
  overloaded: refused(
    503,
    "llama-3.3-70b-versatile is currently over capacity. Please try again and back off exponentially.",
    "internal_server_error",
  ),
  bad_call: refused(
    400,
    "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    "invalid_request_error",
    { code: "tool_use_failed", failed_generation: '<function=calculator{"expression": "6 *' },
  ),
};
