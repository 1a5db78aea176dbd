import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

/** Characters that are read as markdown; more are shown as plain text. */
const maxCharacters = 200_000;
/** Characters of a paragraph that are looked through for emphasis and links: the time for that grows with their square. */
const maxInline = 5_000;
/** Levels of quotes, lists and emphasis; what is deeper is shown as it was written. */
const maxDepth = 24;

/**
 * Markdown of models and tools as elements of the page. No HTML is ever made of it: tags in it are text, images are
 * links, and links lead to http, https and mailto only.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => (text.length > maxCharacters ? null : parse(text)), [text]);
  if (tokens === null) return <pre class="code">{text}</pre>;
  return <div class="markdown">{blocks(tokens, 0)}</div>;
}

function parse(text: string): readonly Token[] | null {
  try {
    return new BoundedLexer({ gfm: true }).lex(text);
  } catch {
    // Nested more deeply than the parser can follow.
    return null;
  }
}

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= maxInline) return super.inlineTokens(text, tokens);
    tokens.push({ type: "text", raw: text, text, escaped: false });
    return tokens;
  }
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, index) => (
    <Block key={index} token={token as MarkedToken} depth={depth + 1} />
  ));
}

type MarkedToken =
  | Tokens.Heading
  | Tokens.Paragraph
  | Tokens.Code
  | Tokens.Blockquote
  | Tokens.List
  | Tokens.Table
  | Tokens.Hr
  | Tokens.Space
  | Tokens.HTML
  | Tokens.Text;

function Block({ token, depth }: { token: MarkedToken; depth: number }) {
  if (depth > maxDepth) return <p>{token.raw}</p>;
  switch (token.type) {
    case "space":
      return null;
    case "heading": {
      // The page has its own headings above.
      const Heading = token.depth < 3 ? "h3" : "h4";
      return <Heading>{inline(token.tokens, depth)}</Heading>;
    }
    case "paragraph":
      return <p>{inline(token.tokens, depth)}</p>;
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth)}</blockquote>;
    case "list": {
      const items = token.items.map((item, index) => (
        <li key={index}>{blocks(item.tokens, depth)}</li>
      ));
      return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <table>
          <thead>
            <tr>
              {token.header.map((cell, index) => (
                <th key={index}>{inline(cell.tokens, depth)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {token.rows.map((cells, index) => (
              <tr key={index}>
                {cells.map((cell, column) => (
                  <td key={column}>{inline(cell.tokens, depth)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    case "hr":
      return <hr />;
    case "text":
      return <span>{token.tokens === undefined ? token.text : inline(token.tokens, depth)}</span>;
    default:
      return <p>{token.raw}</p>;
  }
}

function inline(tokens: readonly Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token, index) => (
    <Inline key={index} token={token as InlineToken} depth={depth + 1} />
  ));
}

type InlineToken =
  | Tokens.Strong
  | Tokens.Em
  | Tokens.Del
  | Tokens.Codespan
  | Tokens.Br
  | Tokens.Link
  | Tokens.Image
  | Tokens.Escape
  | Tokens.Text;

function Inline({ token, depth }: { token: InlineToken; depth: number }) {
  if (depth > maxDepth) return <>{token.raw}</>;
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens, depth)}</strong>;
    case "em":
      return <em>{inline(token.tokens, depth)}</em>;
    case "del":
      return <del>{inline(token.tokens, depth)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
    case "image":
      return (
        <SafeLink href={token.href}>
          {token.type === "link" ? inline(token.tokens, depth) : token.text || "image"}
        </SafeLink>
      );
    case "escape":
      return <>{token.text}</>;
    case "text":
      return <>{token.tokens === undefined ? decoded(token) : inline(token.tokens, depth)}</>;
    default:
      return <>{(token as Token).raw}</>;
  }
}

/** What the writer wrote: the lexer escapes some texts for HTML, which is not made here. */
function decoded(token: Tokens.Text): string {
  return token.raw;
}

function SafeLink({ href, children }: { href: string; children: ComponentChildren }) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return <>{children}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
