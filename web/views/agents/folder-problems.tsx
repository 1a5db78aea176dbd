import { problemOf, send } from "../../api/client.ts";
import { useHasRoute } from "../../api/document.ts";
import { useQuery } from "../../api/query.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { apiUrl } from "../../links.ts";

interface FolderCheck {
  readonly folder: string;
  readonly problems: readonly {
    readonly file: string | null;
    readonly line: number | null;
    readonly column: number | null;
    readonly path: string;
    readonly message: string;
    readonly suggestion: string | null;
  }[];
}

/** Problems that are shown before the rest is asked for. */
const shown = 5;

/** The problems of the definitions in the folder of `stratagraph dev`; nothing on other servers. */
export function FolderProblems() {
  const isServed = useHasRoute("/v1/dev/problems") === true;
  const { data } = useQuery(isServed ? "dev problems" : null, readCheck, { refreshOn: () => true });
  if (data === null || data.problems.length === 0) return null;
  const { folder, problems } = data;
  return (
    <section class="notice bad folder-problems" aria-label="Problems of definitions">
      <strong>
        {problems.length === 1 ? "1 problem" : `${problems.length} problems`} in {folder}
      </strong>
      <ul>
        {problems.slice(0, shown).map((problem, index) => (
          <li key={index}>
            <Problem {...problem} />
          </li>
        ))}
      </ul>
      {problems.length > shown && (
        <details>
          <summary>{problems.length - shown} more</summary>
          <ul>
            {problems.slice(shown).map((problem, index) => (
              <li key={index}>
                <Problem {...problem} />
              </li>
            ))}
          </ul>
        </details>
      )}
      <span class="faint">
        Agents keep the last version without problems. Save the file to check it again.
      </span>
    </section>
  );
}

function Problem({
  file,
  line,
  column,
  path,
  message,
  suggestion,
}: FolderCheck["problems"][number]) {
  const place = [file, line, column].filter((part) => part !== null).join(":");
  return (
    <>
      <code>{place}</code> <CopyButton text={() => place} label="Copy the place" isIcon />{" "}
      {path !== "" && <code class="soft">{path}</code>} {message}
      {suggestion !== null && (
        <>
          {" "}
          – did you mean <code>{suggestion}</code>?
        </>
      )}
    </>
  );
}

/** The route is not in the document of servers without such a folder, from which the client's types are. */
async function readCheck(signal: AbortSignal): Promise<FolderCheck> {
  const response = await send(`${apiUrl}/v1/dev/problems`, { signal });
  const body: unknown = await response.json();
  if (!response.ok) throw problemOf(response.status, body);
  return body as FolderCheck;
}
