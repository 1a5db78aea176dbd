/**
 * A chat with an agent of `stratagraph serve`, whose tool calls wait for an approval:
 *
 *   npx stratagraph serve --dev --agents examples/chat-page --cors http://127.0.0.1:5173
 *   npx esbuild examples/chat-page/page.jsx --bundle --format=esm --jsx=automatic --outfile=examples/chat-page/page.js
 *   npx esbuild --servedir=examples/chat-page --serve=127.0.0.1:5173
 *
 * Open http://127.0.0.1:5173/?agent=chat-desk. A server with keys needs `sessionStorage.setItem("api-key", "sg_…")` in the page.
 */
import { useStream } from "@langchain/langgraph-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { Chat, settings, useThreadInUrl } from "./chat.jsx";

function Page() {
  const [threadId, onThreadId] = useThreadInUrl();
  const [edited, setEdited] = useState(null);
  const stream = useStream({
    ...settings(),
    threadId,
    onThreadId,
    // A turn has several checkpoints. Messages are edited, and branches found, among these.
    fetchStateHistory: { limit: 100 },
    reconnectOnMount: true,
  });

  /** Sends a message; an edited one replaces the one before, on a branch of its own. */
  const send = (text) => {
    const checkpoint = edited?.firstSeenState?.parent_checkpoint;
    setEdited(null);
    const message = { id: crypto.randomUUID(), type: "human", content: text };
    const earlier = checkpoint ? (edited.firstSeenState.values.messages ?? []) : stream.messages;
    return stream.submit(
      { messages: [message] },
      {
        checkpoint,
        optimisticValues: (values) => ({ ...values, messages: [...earlier, message] }),
      },
    );
  };
  return (
    <Chat
      stream={stream}
      send={send}
      answer={(decision) => stream.submit(undefined, { command: { resume: { decision } } })}
      actions={(message) => (
        <Actions
          metadata={stream.getMessagesMetadata(message)}
          edit={setEdited}
          show={stream.setBranch}
        />
      )}
    />
  );
}

/** Edits a message, or shows another branch that begins with it. */
function Actions({ metadata, edit, show }) {
  const { branch, branchOptions = [] } = metadata ?? {};
  const at = branchOptions.indexOf(branch);
  return (
    <>
      <button onClick={() => edit(metadata)}>Edit</button>
      {branchOptions.length > 1 && (
        <button onClick={() => show(branchOptions[(at + 1) % branchOptions.length])}>
          Version {at + 1} of {branchOptions.length}
        </button>
      )}
    </>
  );
}

createRoot(document.querySelector("#page")).render(<Page />);
