import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { formatCount } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { Failure, Show } from "../../components/states.tsx";
import { groupBy } from "./thread-records.ts";

type Context = components["schemas"]["ThreadContext"];
type Message = Context["messages"][number];

/** Why a section is in a prompt. */
const reasons: Readonly<Record<Message["section"], string>> = {
  system: "the system prompt and how to answer",
  memory: "entries of long-term memory that fit the request",
  summary: "older turns, shortened",
  conversation: "earlier turns of the thread",
  steps: "earlier steps of this turn",
  request: "the request, and what this step is asked",
};

/** What the model read for a step, section by section, with what each costs and why it is there. */
export function StepContext({
  threadId,
  namespace,
  turn,
  step,
}: {
  threadId: string;
  namespace: string;
  turn: number;
  step: number;
}) {
  const loaded = useQuery(`context ${threadId} ${namespace} ${turn}.${step}`, (signal) =>
    bodyOf(
      api.GET("/v1/threads/{thread_id}/context", {
        params: {
          path: { thread_id: threadId },
          query: { turn, step, ...(namespace !== "" && { namespace }) },
        },
        signal,
      }),
    ),
  );
  if (loaded.error !== null && loaded.data === null) return <Failure error={loaded.error} />;
  return (
    <Show loaded={loaded}>
      {(context) => (
        <>
          <Budget context={context} />
          <Sections context={context} />
          <Dropped context={context} />
        </>
      )}
    </Show>
  );
}

/** How much of the model's window the prompt takes. */
function Budget({ context }: { context: Context }) {
  const { tokens, budget, model, window, reserved } = context;
  const total = tokens["total"] ?? context.messages.reduce((sum, one) => sum + one.tokens, 0);
  const share = budget === 0 ? 0 : Math.min(1, total / budget);
  return (
    <div class="context-budget">
      <span class="number">
        <strong>{formatCount(total)}</strong> of {formatCount(budget)} tokens
      </span>
      <span class="meter" aria-hidden="true">
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span class="faint number">
        {model}, window {formatCount(window)}, {formatCount(reserved)} for the reply
      </span>
    </div>
  );
}

function Sections({ context }: { context: Context }) {
  const bySection = groupBy(context.messages, ({ section }) => section);
  return (
    <>
      {[...bySection].map(([section, messages]) => {
        const tokens = messages.reduce((sum, one) => sum + one.tokens, 0);
        return (
          <section key={section} class="context-section">
            <h4>
              {section[0]?.toUpperCase()}
              {section.slice(1)} <span class="faint">{reasons[section]}</span>
              <span class="number context-tokens">{formatCount(tokens)}</span>
            </h4>
            {messages.map((message, index) => (
              <ContextMessage key={index} message={message} />
            ))}
          </section>
        );
      })}
      {context.tools.length > 0 && (
        <section class="context-section">
          <h4>
            Tools <span class="faint">that were offered</span>
            <span class="number context-tokens">{formatCount(context.tokens["tools"] ?? 0)}</span>
          </h4>
          <JsonTree value={context.tools} open={0} />
        </section>
      )}
    </>
  );
}

function ContextMessage({ message }: { message: Message }) {
  const { role, content, tokens, step } = message;
  return (
    <div class="context-message">
      <span class="context-role">
        <strong>{role}</strong>
        {step !== null && (
          <span class="faint number">
            step {step.turn}.{step.step}, {step.fidelity}
          </span>
        )}
        <span class="faint number context-tokens">{formatCount(tokens)}</span>
      </span>
      <JsonTree value={content} open={2} />
    </div>
  );
}

/** Steps that are not in the prompt, and what is assumed of the model. */
function Dropped({ context }: { context: Context }) {
  const dropped = context.steps.filter(({ fidelity }) => fidelity === "dropped");
  return (
    <>
      {dropped.length > 0 && (
        <p class="faint">
          Left out for want of room: {dropped.map(({ turn, step }) => `${turn}.${step}`).join(", ")}
        </p>
      )}
      {context.notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
    </>
  );
}
