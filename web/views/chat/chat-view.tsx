import { useLocation, useRoute } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { asApiError, useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { Page } from "../../components/page.tsx";
import { isRecord } from "../../components/schema/fields.ts";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import "../../styles/chat.css";
import { AgentPicker, useAgent } from "./agent-picker.tsx";
import type { Attachment } from "./attachments.ts";
import { Composer } from "./composer.tsx";
import type { Said, Turn } from "./conversation.ts";
import { Conversation } from "./conversation-store.ts";
import { originOf } from "../thread/origin.tsx";
import { forkTurn } from "./fork-turn.ts";
import { Timeline } from "./timeline.tsx";
import { Waiting } from "./waiting.tsx";

/** A chat with an agent, on a thread of it or a new one. */
export function ChatView() {
  const { agent } = useRoute().params;
  const { thread } = useLocation().query;
  if (agent !== undefined && agent !== "") return <AgentChat key={agent} agentId={agent} />;
  if (thread !== undefined) return <ThreadChat threadId={thread} />;
  return (
    <Page title="Chat">
      <AgentPicker />
    </Page>
  );
}

/** Finds the agent of a thread. */
function ThreadChat({ threadId }: { threadId: string }) {
  const { route } = useLocation();
  const thread = useQuery(`thread ${threadId}`, (signal) =>
    bodyOf(
      api.GET("/v1/threads/{thread_id}", { params: { path: { thread_id: threadId } }, signal }),
    ),
  );
  const { data } = thread;
  useEffect(() => {
    if (data !== null && data.agent_id !== null)
      route(links.chat(data.agent_id, { thread: threadId }), true);
  }, [data]);
  return (
    <Page title="Chat">
      <Show loaded={thread}>
        {({ agent_id: agentId }) =>
          agentId === null ? (
            <Empty title="The agent of this thread is not stored here">
              <a href={links.thread(threadId)}>Open the thread</a>
            </Empty>
          ) : (
            <Loading />
          )
        }
      </Show>
    </Page>
  );
}

function AgentChat({ agentId }: { agentId: string }) {
  const { query, route } = useLocation();
  const { thread: threadId = null, model = "" } = query;
  const agent = useAgent(agentId);
  const [editing, edit] = useState<number | null>(null);
  const current = useRef(query);
  current.current = query;
  const conversation = useConversation(agentId, threadId, (begun) =>
    route(links.chat(agentId, { ...current.current, thread: begun }), true),
  );
  useShortcuts("Conversation", [
    { keys: "n", does: "New chat with this agent", run: () => route(links.chat(agentId)) },
  ]);
  const { value: run } = conversation.run;
  const { value: thread } = conversation.thread;
  const definition = agent.data?.definition ?? {};
  const { input_schema: schema } = definition;
  const title = agent.data?.name ?? "Chat";
  const isNew = threadId === null;
  const fork = (turn: Turn, message: string | null) => {
    if (run === null || turn.number === null) return;
    const later = (conversation.turns.value ?? []).filter(
      ({ number }) => number !== null && number > (turn.number ?? 0),
    ).length;
    const input = message === null ? null : { message };
    forkTurn(run, { turn: turn.number, later, input, model }).then(
      (forked) => {
        say("This runs in a new thread. The original stays as it was.");
        route(links.chat(agentId, { ...current.current, thread: forked }));
      },
      (thrown: unknown) => {
        conversation.error.value = asApiError(thrown);
      },
    );
  };
  const send = (message: string, files: readonly Attachment[]) => {
    if (conversation.isRunning) return conversation.addMessage(message);
    const attachments = files.map(({ name, mime_type, data }) => ({ name, mime_type, data }));
    const input = { message, ...(attachments.length > 0 && { attachments }) };
    return conversation.send(input, { id: "sent", text: message, attachments: files }, { model });
  };
  const sendInput = (input: object) => {
    const said: Said = { id: "sent", text: JSON.stringify(input), attachments: [] };
    return conversation.send(input, said, { model });
  };
  const { value: open } = conversation.open;
  const isAwaiting = run !== null && run.status.startsWith("awaiting") && open?.end !== null;
  const editLast = () => {
    const last = conversation.turns.value?.at(-1);
    if (open === null && last?.number != null && !isRecord(schema)) edit(last.number);
  };
  return (
    <Page
      title={title}
      fills
      trail={<a href={links.chat()}>Chat</a>}
      facts={
        thread !== null && (
          <>
            <Badge status={thread.status} />
            <a class="mono truncate thread-id" href={links.thread(thread.thread_id)}>
              {thread.thread_id}
            </a>
          </>
        )
      }
      actions={
        <>
          <ModelField
            model={model}
            onModel={(next) =>
              route(links.chat(agentId, { ...current.current, model: next }), true)
            }
          />
          {!isNew && (
            <a class="button" href={links.chat(agentId, { model })}>
              New chat
            </a>
          )}
        </>
      }
    >
      <div class="chat">
        {agent.error !== null && <Failure error={agent.error} retry={agent.reload} />}
        {conversation.error.value !== null && (
          <Failure error={conversation.error.value} retry={() => void conversation.refresh()} />
        )}
        {conversation.turns.value === null ? (
          conversation.error.value === null && <Loading lines={8} />
        ) : (
          <Timeline
            conversation={conversation}
            editing={editing}
            onEdit={edit}
            onFork={fork}
            canEdit={!isRecord(schema)}
            after={
              isAwaiting ? (
                <Waiting
                  key={`${run.run_id} ${run.last_event}`}
                  run={run}
                  definition={definition}
                  onAnswer={(answers) => answerRun(conversation, answers)}
                  onResults={(results) => conversation.giveResults(results)}
                  onDone={() => void conversation.refresh()}
                />
              ) : undefined
            }
          >
            {thread !== null && <Origin metadata={thread.metadata} />}
            {isNew && open === null && (
              <NewChat agentId={agentId} name={title} definition={definition} />
            )}
          </Timeline>
        )}
        <Composer
          schema={isRecord(schema) ? schema : null}
          isRunning={conversation.isRunning}
          isNew={isNew}
          blocked={isAwaiting ? "The turn waits for the answer above." : null}
          onSend={send}
          onSendInput={sendInput}
          onStop={() => void conversation.cancel()}
          onEditLast={editLast}
        />
      </div>
    </Page>
  );
}

/** One conversation for a thread; the thread that its first message begins is the same one. */
function useConversation(
  agentId: string,
  threadId: string | null,
  onThread: (threadId: string) => void,
): Conversation {
  const held = useRef<Conversation | null>(null);
  if (held.current === null || held.current.threadId !== threadId) {
    held.current?.close();
    held.current = new Conversation(agentId, threadId, onThread);
  }
  useEffect(() => () => held.current?.close(), []);
  return held.current;
}

/** An answer that comes too late is no failure: another one was given, and the run goes on. */
async function answerRun(
  conversation: Conversation,
  answers: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    await conversation.answer(answers);
  } catch (thrown) {
    if (asApiError(thrown).status !== 409) throw thrown;
    say("This was answered already.");
    await conversation.refresh();
  }
}

function ModelField({ model, onModel }: { model: string; onModel: (model: string) => void }) {
  const [text, setText] = useState(model);
  const isWrong = text !== "" && !/^[^\s:]+:\S+$/.test(text);
  return (
    <input
      class="input model mono"
      aria-label="Model instead of the agent's, as provider:model"
      aria-invalid={isWrong}
      title={isWrong ? "Expected provider:model" : "Model instead of the agent's own"}
      placeholder="Agent’s own model"
      value={text}
      maxLength={300}
      spellcheck={false}
      onInput={(event) => setText(event.currentTarget.value.trim())}
      onChange={() => !isWrong && onModel(text)}
    />
  );
}

/** Says of which thread a fork is. */
function Origin({ metadata }: { metadata: Readonly<Record<string, unknown>> }) {
  const origin = originOf(metadata);
  if (origin === null) return null;
  return (
    <p class="notice">
      <span>
        This thread is a fork.{" "}
        <a href={links.chat(undefined, { thread: origin.threadId })}>The original</a> stays as it
        was (
        <a href={links.checkpoint(origin.threadId, origin.checkpointId)}>where it was forked</a>).
      </span>
    </p>
  );
}

/** What an agent is for, and the last conversations with it. */
function NewChat({
  agentId,
  name,
  definition,
}: {
  agentId: string;
  name: string;
  definition: Readonly<Record<string, unknown>>;
}) {
  const { description } = definition;
  const { data } = useQuery(
    `threads of ${agentId}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/threads", {
          params: { query: { agent_id: agentId, limit: 8, order: "activity" } },
          signal,
        }),
      ),
    { refreshOn: ({ agent_id: id }) => id === agentId || id === "*" },
  );
  return (
    <div class="new-chat">
      <div>
        <h3>Talk to {name}</h3>
        {typeof description === "string" && <p class="soft">{description}</p>}
      </div>
      {data !== null && data.threads.length > 0 && (
        <section>
          <h4>Recent</h4>
          <ul>
            {data.threads.map(({ thread_id: id, title, status, turns, updated_at: at }) => (
              <li key={id}>
                <a href={links.chat(agentId, { thread: id })}>
                  {title === null ? (
                    <span class="mono truncate">{id}</span>
                  ) : (
                    <span class="truncate">{title}</span>
                  )}
                  <Badge status={status} />
                  <span class="faint number">{turns === 1 ? "1 turn" : `${turns} turns`}</span>
                  <span class="faint">
                    <Ago at={at} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
