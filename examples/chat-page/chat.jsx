import { useState } from "react";

/** The agent and its server, from the address of the page. */
export function settings() {
  const given = new URLSearchParams(location.search);
  return {
    apiUrl: given.get("api") ?? "http://127.0.0.1:8123",
    assistantId: given.get("agent") ?? "chat-desk",
    apiKey: sessionStorage.getItem("api-key") ?? undefined,
  };
}

/** Keeps the id of the thread in the address, so that a reload shows it again. */
export function useThreadInUrl() {
  const [threadId, setThreadId] = useState(() => new URL(location.href).searchParams.get("thread"));
  const onThreadId = (id) => {
    const url = new URL(location.href);
    url.searchParams.set("thread", id);
    history.replaceState(null, "", url);
    setThreadId(id);
  };
  return [threadId, onThreadId];
}

const textOf = ({ content }) =>
  typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");

/** Messages, what waits for an approval, and a line to write. */
export function Chat({ stream, send, answer, actions }) {
  const [text, setText] = useState("");
  const { messages, interrupt, isLoading, error } = stream;
  const request = interrupt?.value;
  return (
    <main>
      <ol>
        {messages.map((message) => (
          <li key={message.id} className={message.type}>
            <span>{textOf(message)}</span>
            {message.tool_calls?.map(({ id, name, args }) => (
              <code key={id}>
                {name}({JSON.stringify(args)})
              </code>
            ))}
            {message.type === "human" && !isLoading && actions?.(message)}
          </li>
        ))}
      </ol>
      {request && !isLoading && (
        <section>
          <p>{request.prompt}</p>
          <button onClick={() => answer("approve")}>Approve</button>
          <button onClick={() => answer("reject")}>Reject</button>
        </section>
      )}
      {error && <p role="alert">{String(error.message ?? error)}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setText("");
          void send(text);
        }}
      >
        <input
          value={text}
          placeholder="Message"
          onChange={(event) => setText(event.target.value)}
        />
        {isLoading ? (
          <button type="button" onClick={() => void stream.stop()}>
            Stop
          </button>
        ) : (
          <button disabled={text === ""}>Send</button>
        )}
      </form>
    </main>
  );
}
