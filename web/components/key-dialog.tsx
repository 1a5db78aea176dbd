import { useState } from "preact/hooks";
import { apiKey, needsKey, setApiKey } from "../api/client.ts";
import { Dialog } from "./dialog.tsx";

/** Asks for the API key, once the server has refused a request for want of one. */
export function KeyDialog() {
  const [key, setKey] = useState("");
  if (!needsKey.value) return null;
  const use = (next: string | null) => {
    setApiKey(next);
    // What the page shows was loaded with the other key.
    location.reload();
  };
  return (
    <Dialog title="API key" onClose={() => (needsKey.value = false)}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") use(key.trim());
        }}
      >
        <div class="field">
          <label for="api-key">
            {apiKey.value === null ? "This server needs a key." : "The key is not accepted."}
          </label>
          <input
            id="api-key"
            class="input mono"
            type="password"
            autocomplete="off"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
          <span class="hint">
            It is kept for this tab only, and goes to this server only. Create one with{" "}
            <code>stratagraph keys create</code>.
          </span>
        </div>
        <div class="row">
          <button type="submit" class="button primary">
            Use key
          </button>
          {apiKey.value !== null && (
            <button type="button" class="button" onClick={() => use(null)}>
              Forget key
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
