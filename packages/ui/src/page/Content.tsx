/** The server's results by kind: text, Markdown, JSON, images, audio, links, embedded resources and structured content. */
import { compile } from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import { useEffect, useMemo, useState } from "preact/hooks"
import { bytes, line } from "./format.ts"
import { Json } from "./Json.tsx"
import { isMarkdown, Leave, Markdown } from "./Markdown.tsx"
import { link } from "./route.ts"
import { isObject, text as textIn } from "./schema.ts"

/** Number of characters of a text to show at first. */
const mostText = 20_000
/** Maximum length of a text to treat as JSON or Markdown. */
const mostLookedAt = 1_000_000

const parsed = (text: string): unknown => {
  if (text.length > mostLookedAt || !/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Form = "JSON" | "Markdown" | "Text"

const Plain = ({ text }: { readonly text: string }) => {
  const [whole, setWhole] = useState(false)
  const isCut = text.length > mostText && !whole
  return (
    <>
      <pre class="text" tabIndex={0}>
        {isCut ? text.slice(0, mostText) : text}
      </pre>
      {isCut ? (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all {text.length} characters
        </button>
      ) : null}
    </>
  )
}

/** A text, in the form that suits it best and in every other possible form. */
export const Text = ({ markdown = false, text }: { readonly text: string; readonly markdown?: boolean }) => {
  const json = useMemo(() => parsed(text), [text])
  const first: Form =
    json !== undefined ? "JSON" : markdown || isMarkdown(text.slice(0, mostText)) ? "Markdown" : "Text"
  const [chosen, choose] = useState<Form | undefined>(undefined)
  const form = chosen ?? first
  const forms: ReadonlyArray<Form> = json === undefined ? ["Text", "Markdown"] : ["JSON", "Text"]
  return (
    <div class="block">
      <div class="bar tools" role="group" aria-label="Show as">
        {forms.map((each) => (
          <button key={each} type="button" class="small" aria-pressed={each === form} onClick={() => choose(each)}>
            {each}
          </button>
        ))}
      </div>
      {form === "JSON" ? <Json value={json} /> : form === "Markdown" ? <Markdown text={text} /> : <Plain text={text} />}
    </div>
  )
}

const base64 = /^[A-Za-z0-9+/=\s_-]*$/

const bytesOf = (data: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** Saves bytes to a file. Their type is neutral, so that no browser shows them in the origin of this page. */
const Save = ({ data, name }: { readonly data: string; readonly name: string }) => {
  const [url, setUrl] = useState("")
  const content = useMemo(() => bytesOf(data), [data])
  useEffect(() => {
    if (content === undefined) return undefined
    const made = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [content])
  if (content === undefined) return <p class="violation">The data is not base64.</p>
  return (
    <a class="button small" href={url} download={line(name, 80).replace(/[^\w.-]+/g, "_") || "file"}>
      Save {bytes(content.length)}
    </a>
  )
}

const Binary = ({
  data,
  mimeType,
  name
}: {
  readonly data: string
  readonly mimeType: string
  readonly name: string
}) => {
  const [, group = ""] = /^(image|audio|video)\/[\w.+-]+$/i.exec(mimeType) ?? []
  const url = `data:${mimeType};base64,${data}`
  const isData = base64.test(data)
  return (
    <div class="block">
      {/* An image never runs scripts, and the page's policy keeps it from loading anything. */}
      {isData && group === "image" ? <img src={url} alt={line(name)} /> : null}
      {isData && group === "audio" ? <audio controls src={url} aria-label={line(name)} /> : null}
      <div class="bar">
        <span class="quiet">{line(mimeType, 80)}</span>
        <Save data={data} name={name} />
      </div>
    </div>
  )
}

/** The contents of a resource: one part. */
export const Contents = ({ part }: { readonly part: unknown }) => {
  if (!isObject(part)) return <Json value={part} />
  const { blob, mimeType, text, uri } = part
  const type = textIn(mimeType) ?? ""
  return (
    <section class="part">
      <p class="bar">
        <code>{line(textIn(uri) ?? "", 300)}</code>{" "}
        {typeof blob === "string" ? null : <span class="quiet">{line(type, 80)}</span>}
      </p>
      {typeof text === "string" ? <Text text={text} markdown={type.includes("markdown")} /> : null}
      {typeof blob === "string" ? <Binary data={blob} mimeType={type} name={textIn(uri) ?? "resource"} /> : null}
    </section>
  )
}

const LinkBlock = ({ block }: { readonly block: { readonly [key: string]: unknown } }) => {
  const uri = textIn(block["uri"]) ?? ""
  return (
    <div class="block bar">
      <span>
        <strong>{line(textIn(block["title"]) ?? textIn(block["name"]) ?? uri)}</strong>{" "}
        <span class="quiet">{line(textIn(block["description"]) ?? "", 300)}</span>
        <br />
        {/^https?:/i.test(uri) ? <Leave href={uri} /> : <code>{line(uri, 300)}</code>}
      </span>
      <a class="button small" href={link("resource", uri)}>
        Open resource
      </a>
    </div>
  )
}

/** One content block. A kind that this page doesn't know is shown as JSON. */
export const Block = ({ block }: { readonly block: unknown }) => {
  if (!isObject(block)) return <Json value={block} />
  const { data, mimeType, resource, text, type } = block
  if (type === "text" && typeof text === "string") return <Text text={text} />
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return <Binary data={data} mimeType={textIn(mimeType) ?? ""} name={type} />
  }
  if (type === "resource_link") return <LinkBlock block={block} />
  if (type === "resource") return <Contents part={resource} />
  return <Json value={block} />
}

const Blocks = ({ blocks }: { readonly blocks: unknown }) => (
  <>
    {(Array.isArray(blocks) ? blocks : []).map((block, at) => (
      <Block key={at} block={block} />
    ))}
  </>
)

const Structured = ({ schema, value }: { readonly value: unknown; readonly schema: unknown }) => {
  const wrong = useMemo(() => {
    if (schema === undefined) return undefined
    const compiled = compile(schema)
    return Result.isSuccess(compiled) ? compiled.success(value) : [{ path: "", message: compiled.failure.message }]
  }, [schema, value])
  return (
    <section class="part">
      <p class="subhead">
        Structured content{" "}
        {wrong === undefined ? null : wrong.length === 0 ? (
          <span class="badge good">matches the output schema</span>
        ) : (
          <span class="badge bad">does not match the output schema</span>
        )}
      </p>
      {wrong?.map(({ message, path }, at) => (
        <p key={at} class="violation">
          {line(path, 100)} {line(message, 300)}
        </p>
      ))}
      <Json value={value} open={3} />
    </section>
  )
}

const Messages = ({ messages }: { readonly messages: unknown }) => (
  <>
    {(Array.isArray(messages) ? messages : []).map((message, at) => (
      <section key={at} class="part">
        <p class="subhead">{line(textIn(isObject(message) ? message["role"] : undefined) ?? "message", 40)}</p>
        {isObject(message) ? <Blocks blocks={[message["content"]].flat()} /> : null}
      </section>
    ))}
  </>
)

/** Everything in a result. `schema` is the tool's output schema. */
export const Shown = ({
  kind,
  result,
  schema
}: {
  readonly kind: string
  readonly result: unknown
  readonly schema: unknown
}) => {
  if (!isObject(result) || kind === "ping") return <Json value={result} />
  if (kind === "resource") {
    const { contents } = result
    return (
      <>
        {(Array.isArray(contents) ? contents : []).map((part, at) => (
          <Contents key={at} part={part} />
        ))}
      </>
    )
  }
  if (kind === "prompt") return <Messages messages={result["messages"]} />
  const { content, structuredContent } = result
  return (
    <div class={structuredContent === undefined ? "" : "beside"}>
      <div>
        <Blocks blocks={content} />
        {Array.isArray(content) && content.length > 0 ? null : <p class="quiet">The result has no content.</p>}
      </div>
      {structuredContent === undefined ? null : <Structured value={structuredContent} schema={schema} />}
    </div>
  )
}
