/** Questions from the server that are waiting for an answer: forms, pages to open, and requests to a model. */
import { useMemo, useState } from "preact/hooks"
import type { ElicitValue } from "@effect-mcp/protocol/model/Elicitation"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { OpenQuestion } from "../messages/Events.ts"
import { Block } from "./Content.tsx"
import { SchemaForm, useViolations } from "./Form.tsx"
import { line } from "./format.ts"
import { Json } from "./Json.tsx"
import { Leave } from "./Markdown.tsx"
import { Guarded } from "./Parts.tsx"
import { link } from "./route.ts"
import { initial, isObject, text } from "./schema.ts"
import { connection, questions, send } from "./state.ts"

const Refusals = ({ id }: { readonly id: number }) => (
  <>
    <button type="button" onClick={() => void send({ _tag: "Answer", question: id, action: "decline" })}>
      Decline
    </button>
    <button type="button" onClick={() => void send({ _tag: "Answer", question: id, action: "cancel" })}>
      Dismiss
    </button>
  </>
)

const isValue = (value: unknown): value is ElicitValue =>
  ["string", "number", "boolean"].includes(typeof value) ||
  (Array.isArray(value) && value.every((each) => typeof each === "string"))

const FormQuestion = ({ question: { id, params } }: { readonly question: OpenQuestion }) => {
  const schema: JsonObject = useMemo(
    () => (isObject(params["requestedSchema"]) ? params["requestedSchema"] : {}),
    [params]
  )
  const [value, setValue] = useState<JsonObject>(() => {
    const first = initial(schema, schema)
    return isObject(first) ? first : {}
  })
  const violations = useViolations(schema, value)
  const content = Object.fromEntries(
    Object.entries(value).flatMap(([key, each]): Array<[string, ElicitValue]> => (isValue(each) ? [[key, each]] : []))
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send({ _tag: "Answer", question: id, action: "accept", content })
      }}
    >
      <SchemaForm schema={schema} value={value} violations={violations} change={setValue} />
      <div class="bar end">
        <Refusals id={id} />
        <button type="submit" class="primary" disabled={violations.length > 0}>
          Send answer
        </button>
      </div>
    </form>
  )
}

const UrlQuestion = ({ question: { id, params } }: { readonly question: OpenQuestion }) => {
  const url = text(params["url"]) ?? ""
  const host = URL.canParse(url) ? new URL(url).host : ""
  return (
    <>
      <p>
        It asks you to open a page on <strong>{line(host, 200)}</strong>:
      </p>
      <p class="address">
        <Leave href={url} />
      </p>
      {/(?:^|\.)xn--/.test(host) ? (
        <p class="violation">Look closely: this name may contain look-alike letters.</p>
      ) : null}
      <p class="quiet">Accepting only says that you will open it. Nothing opens by itself.</p>
      <div class="bar end">
        <Refusals id={id} />
        <button
          type="button"
          class="primary"
          onClick={() => void send({ _tag: "Answer", question: id, action: "accept" })}
        >
          Accept
        </button>
      </div>
    </>
  )
}

const SamplingQuestion = ({ question: { id, params } }: { readonly question: OpenQuestion }) => {
  const [reply, setReply] = useState("")
  const messages = Array.isArray(params["messages"]) ? params["messages"] : []
  const { messages: _, systemPrompt, ...rest } = params
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send({ _tag: "Answer", question: id, action: "accept", text: reply })
      }}
    >
      {typeof systemPrompt === "string" ? (
        <section class="part">
          <p class="subhead">system</p>
          <pre class="text">{systemPrompt}</pre>
        </section>
      ) : null}
      {messages.map((message: unknown, at) => (
        <section key={at} class="part">
          <p class="subhead">{line(text(isObject(message) ? message["role"] : undefined) ?? "message", 40)}</p>
          {isObject(message)
            ? [message["content"]].flat().map((block, index) => <Block key={index} block={block} />)
            : null}
        </section>
      ))}
      <details>
        <summary>Parameters</summary>
        <Json value={rest} />
      </details>
      <div class="field">
        <label for={`reply-${id}`}>Your reply, as the model</label>
        <textarea
          id={`reply-${id}`}
          rows={3}
          value={reply}
          onInput={({ currentTarget }) => setReply(currentTarget.value)}
        />
      </div>
      <div class="bar end">
        <Refusals id={id} />
        <button type="submit" class="primary">
          Send reply
        </button>
      </div>
    </form>
  )
}

const title: { readonly [K in OpenQuestion["kind"]]: string } = {
  form: "asks you",
  url: "asks you to open a page",
  sampling: "asks your model"
}

const One = ({ question }: { readonly question: OpenQuestion }) => {
  const { id, kind, params, run } = question
  const { server } = connection.value
  return (
    <section class="card question" aria-labelledby={`question-${id}`}>
      <header class="bar">
        <h2 id={`question-${id}`}>
          {line(server?.title ?? server?.name ?? "The server", 60)} {title[kind]}
        </h2>
        {run === undefined ? null : <a href={link("run", run)}>Run {run}</a>}
      </header>
      {typeof params["message"] === "string" ? <p>{params["message"].slice(0, 4000)}</p> : null}
      <Guarded>
        {kind === "form" ? (
          <FormQuestion question={question} />
        ) : kind === "url" ? (
          <UrlQuestion question={question} />
        ) : (
          <SamplingQuestion question={question} />
        )}
      </Guarded>
    </section>
  )
}

/** All waiting questions, oldest first. */
export const Questions = () => (
  <div aria-live="polite">
    {questions.value.map((question) => (
      <One key={question.id} question={question} />
    ))}
  </div>
)
