import { useState } from "preact/hooks";
import { changedKeys, diffLines, foldSame } from "./line-diff.ts";

const signs = { same: " ", removed: "−", added: "+" } as const;
const names = { same: "", removed: "removed: ", added: "added: " } as const;

/** The lines of two texts with marks, those far from changes folded, under the keys that differ. */
export function DiffView({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  /** For screen readers, as in `1.0.0 to 1.0.1`. */
  label: string;
}) {
  const [isWhole, setWhole] = useState(false);
  const lines = diffLines(before, after);
  const keys = changedKeys(lines);
  const [added, removed] = (["added", "removed"] as const).map(
    (kind) => lines.filter((line) => line.kind === kind).length,
  );
  if (added === 0 && removed === 0) return <p class="soft">No line differs.</p>;
  return (
    <div class="diff-view">
      <div class="row">
        <span class="number">
          <span class="added">+{added}</span> <span class="removed">−{removed}</span>
        </span>
        <span class="soft">in</span>
        {keys.map((key) => (
          <code key={key} class="key truncate">
            {key}
          </code>
        ))}
        <button
          type="button"
          class="button small plain"
          aria-pressed={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Fold what is the same" : "Show all lines"}
        </button>
      </div>
      <div class="lines" tabIndex={0} role="region" aria-label={`Lines that differ, ${label}`}>
        <table>
          <tbody>
            {(isWhole ? lines : foldSame(lines)).map((line, index) =>
              typeof line === "number" ? (
                <tr key={index} class="folded">
                  <td colSpan={4}>
                    {line} {line === 1 ? "line is" : "lines are"} the same
                  </td>
                </tr>
              ) : (
                <tr key={index} class={line.kind}>
                  <td class="number">{line.before}</td>
                  <td class="number">{line.after}</td>
                  <td class="sign">
                    <span aria-hidden="true">{signs[line.kind]}</span>
                    <span class="visually-hidden">{names[line.kind]}</span>
                  </td>
                  <td>{line.text}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}
