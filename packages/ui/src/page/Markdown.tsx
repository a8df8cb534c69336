/** The server's Markdown, as elements and never as HTML. Raw HTML is shown as text, images are links, and links ask before they open. */
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked"
import type { ComponentChildren } from "preact"
import { useMemo } from "preact/hooks"
import { line } from "./format.ts"
import { leaving } from "./state.ts"

/** Maximum number of characters to render. */
const mostText = 50_000
/** Maximum length of a paragraph to format, because the parser's time grows with its square. */
const mostInline = 4000

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Array<Token> = []): Array<Token> {
    if (text.length <= mostInline) return super.inlineTokens(text, tokens)
    tokens.push({ type: "text", raw: text, text, escaped: false })
    return tokens
  }
}

/** A link that shows its address, in ASCII, before the browser follows it. Links with schemes other than web and mail are shown as text. */
export const Leave = ({ children, href }: { readonly href: string; readonly children?: ComponentChildren }) =>
  /^(?:https?|mailto):/i.test(href) && URL.canParse(href) ? (
    <button type="button" class="link" title={line(href)} onClick={() => (leaving.value = new URL(href).href)}>
      {children ?? line(href)}
    </button>
  ) : (
    <span title={line(href)}>{children ?? line(href)}</span>
  )

const Inline = ({ tokens }: { readonly tokens: ReadonlyArray<Token> | undefined }) => (
  <>
    {tokens?.map((token, at) => (
      <Part key={at} token={token} />
    ))}
  </>
)

/** `marked`'s types include extension tokens, which don't occur here. */
const isStandard = (token: Token): token is MarkedToken => typeof token.type === "string"

const Table = ({ token: { header, rows } }: { readonly token: Tokens.Table }) => (
  <div class="scroll">
    <table>
      <thead>
        <tr>
          {header.map(({ tokens }, at) => (
            <th key={at} scope="col">
              <Inline tokens={tokens} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, y) => (
          <tr key={y}>
            {row.map(({ tokens }, x) => (
              <td key={x}>
                <Inline tokens={tokens} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const List = ({ token: { items, ordered } }: { readonly token: Tokens.List }) => {
  const all = items.map(({ tokens }, at) => (
    <li key={at}>
      <Inline tokens={tokens} />
    </li>
  ))
  return ordered ? <ol>{all}</ol> : <ul>{all}</ul>
}

const Part = ({ token }: { readonly token: Token }) => {
  if (!isStandard(token)) return null
  switch (token.type) {
    case "space":
    case "def":
      return null
    case "heading":
      // Not a real heading, because the server must not change the page's outline.
      return (
        <p class="subhead">
          <Inline tokens={token.tokens} />
        </p>
      )
    case "paragraph":
      return (
        <p>
          <Inline tokens={token.tokens} />
        </p>
      )
    case "blockquote":
      return (
        <blockquote>
          <Inline tokens={token.tokens} />
        </blockquote>
      )
    case "list":
      return <List token={token} />
    case "table":
      return <Table token={token} />
    case "code":
      return <pre tabIndex={0}>{token.text}</pre>
    case "codespan":
      return <code>{token.text}</code>
    case "strong":
      return (
        <strong>
          <Inline tokens={token.tokens} />
        </strong>
      )
    case "em":
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      )
    case "del":
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      )
    case "link":
      return (
        <Leave href={token.href}>
          <Inline tokens={token.tokens} />
        </Leave>
      )
    case "image":
      return <Leave href={token.href}>[image: {line(token.text)}]</Leave>
    case "hr":
      return <hr />
    case "br":
      return <br />
    case "text":
      return "tokens" in token && token.tokens !== undefined ? <Inline tokens={token.tokens} /> : <>{token.text}</>
    default:
      return <>{token.raw}</>
  }
}

/** True if the text is probably Markdown. */
export const isMarkdown = (text: string): boolean =>
  /^#{1,6} |^```|^\s*[-*] \S|^\d+\. \S|\*\*\S|\[[^\]]+\]\([^)]+\)|^\|.+\|$/m.test(text)

/** Returns the tokens of a text, or `undefined` for a text that exhausts the parser. */
export const tokensOf = (text: string): ReadonlyArray<Token> | undefined => {
  try {
    return new BoundedLexer().lex(text)
  } catch {
    return undefined
  }
}

export const Markdown = ({ text }: { readonly text: string }) => {
  const start = text.slice(0, mostText)
  const tokens = useMemo(() => tokensOf(start), [start])
  return tokens === undefined ? (
    <pre tabIndex={0}>{start}</pre>
  ) : (
    <div class="markdown">
      <Inline tokens={tokens} />
      {text.length > mostText ? <p class="quiet">{text.length - mostText} more characters</p> : null}
    </div>
  )
}
