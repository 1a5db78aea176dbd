import type { ComponentChildren } from "preact";
import { CopyButton } from "../../components/copy-button.tsx";
import { factsOf, promptOf, railsOf, toolsOf } from "./definition-facts.ts";

/** What an agent is made of, and beside it what bounds it. */
export function DefinitionView({
  definition,
  yaml,
  runs,
}: {
  definition: Readonly<Record<string, unknown>>;
  yaml: string;
  runs: ComponentChildren;
}) {
  const { description } = definition;
  const tools = toolsOf(definition);
  const rails = railsOf(definition);
  return (
    <div class="definition">
      <div class="stack">
        {typeof description === "string" && description !== "" && (
          <p class="soft description">{description}</p>
        )}
        <Prompt {...promptOf(definition)} />
        <section>
          <h2>Tools</h2>
          {tools.length === 0 ? (
            <p class="faint">None: it answers from its prompt and the conversation.</p>
          ) : (
            <ul class="parts">
              {tools.map(({ name, kind, about }, index) => (
                <li key={index}>
                  <code>{name}</code>
                  <span class="faint">{kind}</span>
                  <span class="about">{about}</span>
                </li>
              ))}
            </ul>
          )}
        </section>
        <section>
          <h2>Rails</h2>
          {rails.length === 0 ? (
            <p class="faint">None: input, output and tool calls are not checked further.</p>
          ) : (
            <ul class="parts">
              {rails.map(({ where, name, about }, index) => (
                <li key={index}>
                  <code>{name}</code>
                  <span class="faint">{where}</span>
                  <span class="about">{about}</span>
                </li>
              ))}
            </ul>
          )}
        </section>
        <details class="source">
          <summary>Whole definition</summary>
          <CopyButton text={() => yaml} label="Copy as YAML" />
          <pre class="code" tabIndex={0} aria-label="Definition as YAML">
            {yaml}
          </pre>
        </details>
      </div>
      <div class="stack">
        {factsOf(definition).map(({ title, facts }) => (
          <section key={title}>
            <h2>{title}</h2>
            <dl class="facts">
              {facts.map(({ name, value, isDefault = false }) => (
                <>
                  <dt key={name}>{name}</dt>
                  <dd class={isDefault ? "faint" : undefined}>
                    {value}
                    {isDefault && <span class="visually-hidden"> (default)</span>}
                  </dd>
                </>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h2>Recent runs</h2>
          {runs}
        </section>
      </div>
    </div>
  );
}

function Prompt({ role, instructions, examples }: ReturnType<typeof promptOf>) {
  return (
    <section>
      <h2>Prompt</h2>
      {role === "" && instructions === "" && <p class="faint">None: the model's own manner.</p>}
      {role !== "" && <p class="prompt">{role}</p>}
      {instructions !== "" && <p class="prompt">{instructions}</p>}
      {examples.length > 0 && (
        <details>
          <summary>
            {examples.length} {examples.length === 1 ? "example" : "examples"}
          </summary>
          <dl class="examples">
            {examples.map(({ input, output }, index) => (
              <div key={index}>
                <dt>{input}</dt>
                <dd>{output}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}
