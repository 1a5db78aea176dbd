import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { formatBytes } from "../../components/format.ts";
import { SchemaForm } from "../../components/schema-form.tsx";
import { type Problem, type Schema } from "../../components/schema/fields.ts";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Failure } from "../../components/states.tsx";
import { acceptedTypes, type Attachment, readAttachment } from "./attachments.ts";

interface ComposerProps {
  /** Schema of the agent's input; null for agents that take a message. */
  readonly schema: Schema | null;
  /** Whether a turn runs: what is sent then goes into it. */
  readonly isRunning: boolean;
  /** Whether the conversation has no turn yet. */
  readonly isNew: boolean;
  /** Why nothing can be sent now; null if it can. */
  readonly blocked: string | null;
  readonly onSend: (message: string, files: readonly Attachment[]) => Promise<void>;
  readonly onSendInput: (input: object) => Promise<void>;
  readonly onStop: () => void;
  /** Changes the message that was sent last. */
  readonly onEditLast: () => void;
}

/** Where messages are written, and turns are stopped. */
export function Composer(props: ComposerProps) {
  const { schema, isRunning, blocked, onStop } = props;
  if (blocked !== null && !isRunning)
    return (
      <div class="composer row">
        <p class="hint">{blocked}</p>
        <button type="button" class="button small push" onClick={onStop}>
          Cancel the turn
        </button>
      </div>
    );
  return (
    <div class="composer">
      {schema !== null && !isRunning ? (
        <InputForm {...props} schema={schema} />
      ) : (
        <MessageForm {...props} />
      )}
      {schema !== null && isRunning && (
        <button type="button" class="button" onClick={onStop}>
          Stop
        </button>
      )}
    </div>
  );
}

/** The input of an agent that takes more than a message. */
function InputForm({ schema, onSendInput }: ComposerProps & { schema: Schema }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = (input: unknown) => {
    setBusy(true);
    setError(null);
    onSendInput(Object(input) as object).then(
      () => setBusy(false),
      (thrown: unknown) => {
        setError(asApiError(thrown));
        setBusy(false);
      },
    );
  };
  return (
    <>
      <SchemaForm
        schema={schema}
        problems={inputProblems(error)}
        submitLabel="Run"
        isBusy={isBusy}
        onSubmit={send}
      />
      {error !== null && inputProblems(error).length === 0 && <Failure error={error} />}
    </>
  );
}

/** Problems with an input, as `path.of.a.member: what`, at the members that have them. */
function inputProblems(error: ApiError | null): readonly Problem[] {
  return (error?.errors ?? [])
    .filter(({ pointer }) => pointer === "/input" || pointer.startsWith("/input/"))
    .map(({ pointer, detail }) => {
      const path = /^([\w.[\]-]+): /.exec(detail)?.[1] ?? "";
      const below =
        path === ""
          ? ""
          : `/${path
              .split(/[.[\]]+/)
              .filter(Boolean)
              .join("/")}`;
      return { pointer: pointer.slice("/input".length) + below, detail };
    });
}

function MessageForm(props: ComposerProps) {
  const { isRunning, onSend, onStop } = props;
  const [text, setText] = useState("");
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [isOver, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const held = useRef(files);
  held.current = files;
  useEffect(() => {
    if (props.isNew) area.current?.focus();
    return () => held.current.forEach(forget);
  }, []);
  useShortcuts("Chat", [
    { keys: "/", does: "Write a message", run: () => area.current?.focus() },
    { keys: "Escape", does: "Stop the turn", run: () => isRunning && onStop() },
    { keys: "e", does: "Edit your last message", run: props.onEditLast },
  ]);
  const send = () => {
    if (text.trim() === "") return;
    const [sent, sentFiles] = [text, isRunning ? [] : files];
    setText("");
    setError(null);
    setRefused([]);
    if (!isRunning) setFiles([]);
    onSend(sent, sentFiles).then(
      () => sentFiles.forEach(forget),
      (thrown: unknown) => {
        setError(asApiError(thrown));
        // What was written in the meantime stays as well.
        setText((now) => (now === "" ? sent : `${sent}\n${now}`));
        setFiles((now) => [...sentFiles, ...now]);
      },
    );
  };
  const add = async (added: readonly File[]) => {
    const found: string[] = [];
    for (const file of added) {
      const read = await readAttachment(file, held.current);
      if (typeof read === "string") found.push(read);
      else {
        held.current = [...held.current, read];
        setFiles(held.current);
      }
    }
    setRefused(found);
  };
  const remove = (file: Attachment) => {
    forget(file);
    setFiles(files.filter((one) => one !== file));
    area.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isRunning) onStop();
    if (event.key === "ArrowUp" && text === "" && !isRunning) props.onEditLast();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class={isOver ? "message-form over" : "message-form"}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {error !== null && <Failure error={error} />}
      {refused.length > 0 && (
        <p class="problem" role="alert">
          {refused.join(" ")}
        </p>
      )}
      {files.length > 0 && (
        <ul class="files" aria-label="Files">
          {files.map((file) => (
            <li key={file.name}>
              {file.preview !== null && <img src={file.preview} alt="" />}
              <span class="truncate">{file.name}</span>
              <span class="faint number">{formatBytes(file.bytes)}</span>
              <button
                type="button"
                class="button small plain"
                aria-label={`Remove ${file.name}`}
                onClick={() => remove(file)}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        class="input"
        aria-label={isRunning ? "Add a message to this turn" : "Message"}
        placeholder={isRunning ? "Add to this turn; the next step reads it" : "Message"}
        rows={1}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length === 0) return;
          event.preventDefault();
          void add(pasted);
        }}
      />
      <div class="row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          accept={acceptedTypes}
          onChange={(event) => {
            void add([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
        <button
          type="button"
          class="button small plain"
          disabled={isRunning}
          title="Up to 10 files, 11 MB together: text, images, PDF, sound"
          onClick={() => picker.current?.click()}
        >
          Attach files
        </button>
        <span class="hint keys">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> breaks the line
        </span>
        <div class="row push">
          {isRunning && (
            <button type="button" class="button" onClick={onStop}>
              Stop
            </button>
          )}
          <button type="submit" class="button primary" disabled={text.trim() === ""}>
            {isRunning ? "Add" : "Send"}
          </button>
        </div>
      </div>
    </form>
  );
}

function forget({ preview }: Attachment): void {
  if (preview !== null) URL.revokeObjectURL(preview);
}
