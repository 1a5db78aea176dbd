import { useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Failure } from "../../components/states.tsx";
import { say } from "../../components/toast.tsx";
import { type MemoryType, memoryTypes } from "./entries.ts";

/** A form for a new memory of an agent. */
export function AddMemory({
  agentId,
  user,
  onAdded,
  onClose,
}: {
  agentId: string;
  user: string;
  onAdded: () => void;
  onClose: () => void;
}) {
  const [content, setContent] = useState("");
  const [type, setType] = useState<MemoryType>("semantic");
  const [owner, setOwner] = useState(user);
  const [importance, setImportance] = useState("0.5");
  const [error, setError] = useState<ApiError | null>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    try {
      const body = {
        content,
        memory_type: type,
        importance: Number(importance),
        ...(owner.trim() !== "" && { user: owner.trim() }),
      };
      const params = { path: { agent_id: agentId } };
      const added = await bodyOf(api.POST("/v1/agents/{agent_id}/memory", { params, body }));
      say(added.embedding_generated ? "Stored" : "Stored, found by its words alone");
      onAdded();
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  return (
    <Dialog title="Add memory" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void add(event)}>
        <div class="field">
          <label for="memory-content">What to remember</label>
          <textarea
            id="memory-content"
            class="input"
            rows={4}
            required
            maxLength={32_768}
            value={content}
            onInput={(event) => setContent(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="memory-type">Type</label>
          <select
            id="memory-type"
            class="input"
            value={type}
            onChange={(event) => setType(event.currentTarget.value as MemoryType)}
          >
            {memoryTypes.map((one) => (
              <option key={one} value={one}>
                {one.replace("_", "-")}
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="memory-owner">User</label>
          <input
            id="memory-owner"
            class="input"
            value={owner}
            onInput={(event) => setOwner(event.currentTarget.value)}
          />
          <span class="hint">
            Empty: of no user. Turns of a user read only that user's memories.
          </span>
        </div>
        <div class="field">
          <label for="memory-importance">Importance, 0 to 1</label>
          <input
            id="memory-importance"
            class="input number"
            type="number"
            min="0"
            max="1"
            step="0.05"
            value={importance}
            onInput={(event) => setImportance(event.currentTarget.value)}
          />
        </div>
        {error !== null && <Failure error={error} />}
        <div class="row">
          <button type="submit" class="button primary">
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}
