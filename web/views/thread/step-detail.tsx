import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { Markdown } from "../../components/markdown.tsx";
import { Show } from "../../components/states.tsx";
import { links } from "../../links.ts";
import { ModelCalls } from "./model-calls.tsx";
import { StepContext } from "./step-context.tsx";
import { StepCalls } from "./step-calls.tsx";
import { entryFinder, failureOf, type PathEntry, type Run, type Step } from "./thread-records.ts";

interface StepDetailProps {
  readonly threadId: string;
  readonly namespace: string;
  readonly id: string;
  /** The step as the list has it; undefined before it is loaded. */
  readonly step: Step | undefined;
  readonly path: readonly PathEntry[];
  readonly runs: readonly Run[];
  readonly previous: string | null;
  readonly next: string | null;
  readonly close: string;
}

/** All that is known of a step. Parts that cost a request are loaded once they are opened. */
export function StepDetail(props: StepDetailProps) {
  const { threadId, namespace, id, step, path, runs, previous, next, close } = props;
  const [turn = "", number = ""] = id.split(".");
  // An open step is another one once its calls have ended.
  const state = step?.is_open === true ? `open ${step.calls.length}` : "ended";
  const loaded = useQuery(`step ${threadId} ${namespace} ${id} ${state}`, (signal) =>
    bodyOf(
      api.GET("/v1/threads/{thread_id}/steps/{turn}/{step}", {
        params: {
          path: { thread_id: threadId, turn, step: number },
          query: namespace === "" ? {} : { namespace },
        },
        signal,
      }),
    ),
  );
  return (
    <section class="step-detail" aria-label={`Step ${id}`}>
      <header>
        <h2>
          Step <span class="number">{id}</span>
        </h2>
        {step !== undefined && <span class="soft truncate">{step.node}</span>}
        {step !== undefined && step.is_open && <Badge status="running" />}
        <span class="step-moves">
          <Move href={previous} label="Previous step (k)" sign="↑" />
          <Move href={next} label="Next step (j)" sign="↓" />
          <Move href={close} label="Close (Esc)" sign="×" />
        </span>
      </header>
      <div class="step-content">
        <Show loaded={loaded}>
          {(whole) => (
            <>
              <StepFacts step={whole} entry={entryFinder(path)(whole)} threadId={threadId} />
              <StepTexts step={whole} />
              <StepCalls record={whole.record} />
              {whole.model !== "" && (
                <>
                  <Opening name="prompt" title="Prompt" hint="what the model read, and why">
                    <StepContext
                      threadId={threadId}
                      namespace={namespace}
                      turn={whole.turn}
                      step={whole.step}
                    />
                  </Opening>
                  <Opening
                    name="calls"
                    title="Model calls"
                    hint={`${whole.llm_calls}, with their texts`}
                  >
                    <ModelCalls step={whole} runs={runs} />
                  </Opening>
                </>
              )}
              {whole.redacted && (
                <p class="faint">
                  Values that rails redacted are placeholders. A key with the scope{" "}
                  <code>checkpoints:unredacted</code> shows them.
                </p>
              )}
            </>
          )}
        </Show>
      </div>
    </section>
  );
}

function Move({ href, label, sign }: { href: string | null; label: string; sign: string }) {
  const { route } = useLocation();
  return (
    <button
      type="button"
      class="button small plain"
      aria-label={label}
      title={label}
      disabled={href === null}
      onClick={() => {
        if (href !== null) route(href, true);
      }}
    >
      {sign}
    </button>
  );
}

/** A part that is opened by its heading. Whether it is open is in the address. */
function Opening({
  name,
  title,
  hint,
  children,
}: {
  name: string;
  title: string;
  hint: string;
  children: ComponentChildren;
}) {
  const { query, path, route } = useLocation();
  const open = new Set((query["open"] ?? "").split(" ").filter((one) => one !== ""));
  const isOpen = open.has(name);
  const toggle = () => {
    if (isOpen) open.delete(name);
    else open.add(name);
    const search = new URLSearchParams({ ...query, open: [...open].join(" ") });
    if (open.size === 0) search.delete("open");
    route(`${path}?${search.toString()}`, true);
  };
  return (
    <section class="step-part">
      <h3>
        <button type="button" class="opening" aria-expanded={isOpen} onClick={toggle}>
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {title}
          <span class="faint">{hint}</span>
        </button>
      </h3>
      {isOpen && children}
    </section>
  );
}

type WholeStep = Step & { readonly record: Readonly<Record<string, unknown>> };

function StepFacts({
  step,
  entry,
  threadId,
}: {
  step: WholeStep;
  entry: PathEntry | undefined;
  threadId: string;
}) {
  const checkpoint = entry?.namespace === "" ? entry.checkpoint_id : null;
  return (
    <>
      <dl class="facts step-facts">
        <dt>Time</dt>
        <dd class="number">
          {formatDuration(step.duration_ms)}
          <span class="faint">
            {" "}
            model {formatDuration(step.model_ms)} · tools {formatDuration(step.tool_ms)}
          </span>
        </dd>
        <dt>Began</dt>
        <dd class="number">{new Date(step.started_at).toLocaleString()}</dd>
        <dt>Place</dt>
        <dd>
          Turn {step.turn}, attempt {step.attempt}, node {step.node}
        </dd>
        {step.model !== "" && (
          <>
            <dt>Model</dt>
            <dd>
              {step.model}
              {step.fallback_from !== null && (
                <span class="faint"> instead of {step.fallback_from}</span>
              )}
              {step.mode === "deep" && <span class="faint">, deep mode</span>}
            </dd>
            <dt>Tokens</dt>
            <dd class="number">
              {formatCount(step.tokens_in)} in
              {step.cached_tokens > 0 && (
                <span class="faint"> ({formatCount(step.cached_tokens)} cached)</span>
              )}{" "}
              · {formatCount(step.tokens_out)} out
              {step.reasoning_tokens > 0 && (
                <span class="faint"> ({formatCount(step.reasoning_tokens)} reasoning)</span>
              )}{" "}
              · {formatCost(step.cost_usd)}
            </dd>
          </>
        )}
        {step.finish_reason !== null && (
          <>
            <dt>Reply ended</dt>
            <dd>{step.finish_reason}</dd>
          </>
        )}
        {step.progress !== "" && (
          <>
            <dt>Progress</dt>
            <dd>{step.progress}</dd>
          </>
        )}
      </dl>
      {checkpoint !== null && (
        <div class="row">
          <a class="button small" href={links.checkpoints(threadId, { at: checkpoint })}>
            Fork from here
          </a>
        </div>
      )}
    </>
  );
}

/** Texts of a record, in the order in which the model writes them. */
const texts: readonly (readonly [string, string])[] = [
  ["reasoning", "Reasoning"],
  ["thought", "Thought"],
  ["planning", "Planning"],
  ["reflection", "Reflection"],
  ["approach", "Approach"],
  ["synthesis", "Synthesis"],
];

function StepTexts({ step }: { step: WholeStep }) {
  const { record } = step;
  const problem = textOf(record["problem"]);
  const hypothesis = Object(record["hypothesis"]) as { belief?: unknown; test?: unknown };
  return (
    <>
      {problem !== "" && (
        <div class="notice bad">
          <strong>The reply was refused</strong>
          <pre class="plain-text">{problem}</pre>
        </div>
      )}
      {texts.map(([name, title]) => {
        const text = textOf(record[name]);
        return text === "" ? null : (
          <section key={name} class="step-part" dir="auto">
            <h3>{title}</h3>
            <Markdown text={text} />
          </section>
        );
      })}
      {textOf(hypothesis.belief) !== "" && (
        <section class="step-part">
          <h3>Hypothesis</h3>
          <p dir="auto">{textOf(hypothesis.belief)}</p>
          <p class="soft" dir="auto">
            Test: {textOf(hypothesis.test)}
          </p>
        </section>
      )}
      {failureOf(step) === null && textOf(record["thought"]) === "" && step.calls.length === 0 && (
        <p class="faint">The step has neither a thought nor a call.</p>
      )}
    </>
  );
}

/** A text, or the text of an object with one, as reasoning has it. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const { text } = Object(value) as { text?: unknown };
  return typeof text === "string" ? text : "";
}
