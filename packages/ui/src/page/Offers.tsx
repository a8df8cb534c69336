/** Views of tools and resources, and the choice of a view for an item. */
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import { useState } from "preact/hooks"
import { PromptView, TemplateView } from "./Completed.tsx"
import { Contents } from "./Content.tsx"
import { SchemaForm, useViolations } from "./Form.tsx"
import { bytes, counted, line, time } from "./format.ts"
import { About, isConnected, Recent } from "./Parts.tsx"
import { link, route } from "./route.ts"
import { initial, isObject } from "./schema.ts"
import { connection, copy, lists, send, watched } from "./state.ts"
import { viewUriOf } from "./ViewFrame.tsx"

const Hints = ({ tool: { annotations, execution, _meta } }: { readonly tool: Tool }) => {
  const { destructiveHint, idempotentHint, openWorldHint, readOnlyHint } = annotations ?? {}
  const hints = [
    readOnlyHint === true ? "read-only" : undefined,
    destructiveHint === true ? "destructive" : undefined,
    idempotentHint === true ? "idempotent" : undefined,
    openWorldHint === true ? "open world" : undefined,
    execution?.taskSupport === undefined || execution.taskSupport === "forbidden"
      ? undefined
      : `task ${execution.taskSupport}`,
    viewUriOf(_meta) === undefined ? undefined : "has a view"
  ]
  return (
    <>
      {hints.map((hint) =>
        hint === undefined ? null : (
          <span key={hint} class="badge">
            {hint}
          </span>
        )
      )}
    </>
  )
}

const mayBeTask = ({ execution }: Tool): boolean => {
  const { capabilities, revision = "" } = connection.value
  const extensions: { readonly [id: string]: unknown } = capabilities?.extensions ?? {}
  return (
    (execution?.taskSupport !== undefined && execution.taskSupport !== "forbidden") ||
    (revision >= "2026" && extensions["io.modelcontextprotocol/tasks"] !== undefined)
  )
}

export const ToolView = ({ tool }: { readonly tool: Tool }) => {
  const { description, execution, inputSchema, name: of, title } = tool
  const [value, setValue] = useState<JsonObject>(() => {
    const first = initial(inputSchema, inputSchema)
    return route.value.args ?? (isObject(first) ? first : {})
  })
  const [task, setTask] = useState(execution?.taskSupport === "required" || (connection.value.revision ?? "") >= "2026")
  const violations = useViolations(inputSchema, value)
  const isOk = violations.length === 0
  const call = () => void send({ _tag: "Call", tool: of, arguments: value, task: task && mayBeTask(tool) })
  return (
    <>
      <section class="card">
        <header class="bar">
          <h2>{line(title ?? of, 120)}</h2>
          {title === undefined ? null : <code>{line(of, 120)}</code>}
          <Hints tool={tool} />
        </header>
        <About description={description} raw={tool} />
        <form
          onSubmit={(event) => {
            event.preventDefault()
            call()
          }}
        >
          <SchemaForm schema={inputSchema} value={value} violations={violations} change={setValue} />
          <div class="bar end">
            {isOk ? null : <span class="violation">The arguments do not match the schema.</span>}
            {mayBeTask(tool) ? (
              <label class="inline">
                <input
                  type="checkbox"
                  checked={task}
                  onChange={({ currentTarget }) => setTask(currentTarget.checked)}
                />
                As a task
              </label>
            ) : null}
            <button
              type="button"
              onClick={() =>
                void copy(new URL(link("tool", of, value), location.href).href, "a link with these arguments")
              }
            >
              Copy link
            </button>
            <button type="submit" class="primary" disabled={!isConnected()}>
              {isOk ? "Call" : "Call anyway"}
            </button>
          </div>
        </form>
      </section>
      <Recent kind="tool" of={of} />
    </>
  )
}

const Watching = ({ uri }: { readonly uri: string }) => {
  const found = watched.value.find((each) => each.uri === uri)
  const canWatch =
    connection.value.capabilities?.resources?.subscribe === true || (connection.value.revision ?? "") >= "2026"
  if (!canWatch) return null
  return (
    <section class="part" aria-label="Subscription">
      <label class="inline">
        <input
          type="checkbox"
          checked={found !== undefined}
          disabled={!isConnected()}
          onChange={({ currentTarget }) => void send({ _tag: "Watch", uri, on: currentTarget.checked })}
        />
        Subscribe
      </label>
      {found === undefined ? null : (
        <>
          <p class="quiet" role="status">
            {counted(found.updates, "update")}, last at {time(found.changedAt)}
          </p>
          {found.error === undefined ? null : <p class="violation">{line(found.error, 500)}</p>}
          {Array.isArray(found.contents) ? found.contents.map((part, at) => <Contents key={at} part={part} />) : null}
        </>
      )}
    </section>
  )
}

/** A resource by its URI, listed or not. */
export const ResourceView = ({ resource, uri }: { readonly uri: string; readonly resource: Resource | undefined }) => (
  <>
    <section class="card">
      <header class="bar">
        <h2>{line(resource?.title ?? resource?.name ?? uri, 120)}</h2>
        {resource?.mimeType === undefined ? null : <span class="badge">{line(resource.mimeType, 60)}</span>}
        {resource?.size === undefined ? null : <span class="quiet">{bytes(resource.size)}</span>}
      </header>
      <p>
        <code>{line(uri, 500)}</code>
      </p>
      {resource === undefined ? null : <About description={resource.description} raw={resource} />}
      <Watching uri={uri} />
      <div class="bar end">
        <button
          type="button"
          class="primary"
          disabled={!isConnected()}
          onClick={() => void send({ _tag: "Read", uri })}
        >
          Read
        </button>
      </div>
    </section>
    <Recent kind="resource" of={uri} />
  </>
)

/** The item that the address names, or the reason why it is missing. */
export const Offer = () => {
  const { item, view } = route.value
  const { prompts = [], resources = [], resourceTemplates = [], tools = [] } = lists.value
  const isHere = (of: string) => of.toWellFormed() === item
  const key = `${view} ${item} ${JSON.stringify(route.value.args ?? null)}`
  if (view === "resource")
    return <ResourceView key={key} uri={item} resource={resources.find(({ uri }) => isHere(uri))} />
  if (view === "tool") {
    const tool = tools.find((each) => isHere(each.name))
    if (tool !== undefined) return <ToolView key={key} tool={tool} />
  }
  if (view === "template") {
    const template = resourceTemplates.find((each) => isHere(each.uriTemplate))
    if (template !== undefined) return <TemplateView key={key} template={template} />
  }
  if (view === "prompt") {
    const prompt = prompts.find((each) => isHere(each.name))
    if (prompt !== undefined) return <PromptView key={key} prompt={prompt} />
  }
  return (
    <section class="card">
      <p>
        {connection.value.status === "connecting"
          ? "Connecting …"
          : `The server lists no ${view} named "${line(item, 120)}".`}
      </p>
    </section>
  )
}
