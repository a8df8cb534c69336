/** Clients with one fault each. Each row names the expected finding. */
import type { Faulty } from "./finds.ts"
import { minimal, type Faults } from "./minimalClient.ts"
import { type Between, type Outgoing, ours } from "./ourClient.ts"

type Json = any

export interface ClientMutant extends Faulty {
  readonly name: string
  readonly target: ReturnType<typeof ours>
}

const accepted = () => Promise.resolve(new Response(null, { status: 202 }))
const isLater = ({ message }: Outgoing): boolean => message?.method !== "initialize"

/** Changes each HTTP request. */
const each =
  (change: (outgoing: Outgoing) => Promise<Response> | undefined): Between =>
  () =>
  (outgoing) =>
    change(outgoing) ?? outgoing.send()

/** Changes headers. */
const headers = (change: (headers: Headers, outgoing: Outgoing) => void): Between =>
  each((outgoing) => {
    change(outgoing.headers, outgoing)
    return undefined
  })

/** Changes messages. */
const messages = (change: (message: Json) => Json): Between =>
  each(({ message, send }) => (message === undefined ? undefined : send(change(message))))

const params = (method: string, change: (params: Json) => Json): Between =>
  messages((message) => (message.method === method ? { ...message, params: change(message.params) } : message))

/** Changes `_meta` of every request. */
const meta = (change: (meta: Json) => Json): Between =>
  messages((message) =>
    message.params?._meta === undefined
      ? message
      : { ...message, params: { ...message.params, _meta: change(message.params._meta) } }
  )

/** Changes the answers to the server's questions. */
const replies = (change: (reply: Json) => Json): Between =>
  messages((message) => (message.method === undefined ? change(message) : message))

const without = (name: string) => (object: Json) => {
  const { [name]: _, ...rest } = object
  return rest
}
const isRetry = (params: Json): boolean => params?.inputResponses !== undefined || params?.requestState !== undefined
const retries = (change: (params: Json) => Json): Between =>
  params("tools/call", (given) => (isRetry(given) ? change(given) : given))

const modern = "2026-07-28"
const tap = (name: string, finds: string, between: Between, revision?: typeof modern | "2025-06-18"): ClientMutant => ({
  name,
  finds,
  target: ours(between),
  revision
})
const own = (name: string, finds: string, faults: Faults): ClientMutant => ({ name, finds, target: minimal(faults) })

/** Keeps sending an expired session id. */
const clings: Between = () => {
  let id: string | null = null
  return ({ headers, message, send }) => {
    if (message?.method === "initialize" && id !== null) headers.set("mcp-session-id", id)
    id = headers.get("mcp-session-id") ?? id
    return send()
  }
}

/** Does not start a new session. */
const gives: Between = () => {
  let isGone = false
  return async ({ send }) => {
    if (isGone) return new Response(null, { status: 400 })
    const response = await send()
    isGone = response.status === 404
    return isGone ? new Response(null, { status: 400 }) : response
  }
}

export const clientMutants: ReadonlyArray<ClientMutant> = [
  tap(
    "accepts JSON only",
    "client-post-accept",
    headers((all, { method }) => method === "POST" && all.set("accept", "application/json"))
  ),
  tap(
    "accepts any content type on its stream",
    "client-get-accept",
    headers((all, { method }) => method === "GET" && all.set("accept", "*/*"))
  ),
  tap(
    "ends a session without its id",
    "client-session-sent",
    headers((all, { method }) => method === "DELETE" && all.delete("mcp-session-id"))
  ),
  tap(
    "sends no version",
    "client-version-header",
    headers((all) => all.delete("mcp-protocol-version"))
  ),
  tap(
    "sends the wrong version",
    "client-version-negotiated",
    headers((all, outgoing) => isLater(outgoing) && all.set("mcp-protocol-version", "2025-03-26")),
    "2025-06-18"
  ),
  tap(
    "never ends its session",
    "client-session-deleted",
    each(({ method }) => (method === "DELETE" ? accepted() : undefined))
  ),
  tap(
    "is never initialized",
    "client-initialized",
    each(({ message }) => (message?.method === "notifications/initialized" ? accepted() : undefined))
  ),
  tap("sends no client name", "client-initialize-params", params("initialize", without("clientInfo"))),
  tap("sends no capabilities", "client-initialize-params", params("initialize", without("capabilities"))),
  tap("reuses the old session id", "client-reinitializes without id", clings),
  tap("gives up when its session ends", "client-reinitializes", gives),
  tap(
    "resumes from the wrong event id",
    "client-last-event-id",
    headers((all) => all.has("last-event-id") && all.set("last-event-id", "0"))
  ),
  tap(
    "changes cursors",
    "client-cursor-unmodified",
    messages((message) =>
      message.params?.cursor === undefined
        ? message
        : { ...message, params: { ...message.params, cursor: encodeURIComponent(message.params.cursor) } }
    )
  ),
  tap(
    "rejects pings",
    "client-ping-answered",
    replies(({ id, result }) => ({
      jsonrpc: "2.0",
      id,
      ...(Object.keys(result ?? {}).length === 0 ? { error: { code: -32601, message: "no" } } : { result })
    }))
  ),
  tap(
    "never answers pings",
    "client-ping-answered",
    each(({ message }) => (message?.method === undefined && message?.result !== undefined ? accepted() : undefined))
  ),
  tap(
    "never rejects",
    "client-question-answered",
    each(({ message }) => (message?.error !== undefined ? accepted() : undefined))
  ),
  tap(
    "sends ids of the wrong type",
    "client-response-id",
    replies((reply) => ({ ...reply, id: typeof reply.id === "number" ? String(reply.id) : 7 }))
  ),
  tap(
    "sends codes as strings",
    "client-message-valid",
    replies((reply) => (reply.error ? { ...reply, error: { ...reply.error, code: "x" } } : reply))
  ),
  tap("omits jsonrpc", "client-message-valid", replies(without("jsonrpc"))),
  tap(
    "lists undeclared roots",
    "answers-only-what-it-declared roots",
    replies(({ error, ...reply }) =>
      error?.code === -32601 ? { ...reply, result: { roots: [] } } : { ...reply, ...(error && { error }) }
    )
  ),
  tap(
    "uses its own error codes",
    "client-roots-unsupported",
    replies((reply) => (reply.error ? { ...reply, error: { ...reply.error, code: -32000 } } : reply))
  ),
  tap(
    "accepts every method",
    "client-unknown-refused",
    replies(({ error, ...reply }) => ({ ...reply, ...(error ? { result: {} } : undefined) }))
  ),
  tap("cancels requests it never sent", "client-cancels-own", () => {
    let isFirst = true
    return async ({ message, send }) => {
      if (message?.method !== "tools/list" || !isFirst) return send()
      isFirst = false
      await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "none" } })
      return send()
    }
  }),
  tap(
    "sends no method header",
    "client-mirror-headers mcp-method",
    headers((all) => all.delete("mcp-method")),
    modern
  ),
  tap(
    "sends no name header",
    "client-mirror-headers mcp-name",
    headers((all) => all.delete("mcp-name")),
    modern
  ),
  tap(
    "posts without a version",
    "client-version-every-post",
    headers((all) => all.delete("mcp-protocol-version")),
    modern
  ),
  tap(
    "posts with two versions",
    "client-version-matches",
    headers((all) => all.set("mcp-protocol-version", "2025-11-25")),
    modern
  ),
  tap("declares nothing", "client-meta", meta(without("io.modelcontextprotocol/clientCapabilities")), modern),
  tap("omits its client info", "client-meta-info", meta(without("io.modelcontextprotocol/clientInfo")), modern),
  tap(
    "modifies states",
    "client-state-echoed",
    retries((all) => ({ ...all, ...(all.requestState && { requestState: `${all.requestState} ` }) })),
    modern
  ),
  tap(
    "invents states",
    "client-state-not-invented",
    retries((all) => ({ requestState: "mine", ...all })),
    modern
  ),
  tap(
    "forgets an answer",
    "client-answers-all",
    retries((all) => ({ ...all, ...(all.inputResponses && { inputResponses: without("a")(all.inputResponses) }) })),
    modern
  ),
  tap(
    "posts responses",
    "client-no-responses",
    () =>
      async ({ message, send }) => {
        if (message?.method === "tools/call") await send({ jsonrpc: "2.0", id: "x", result: {} })
        return send()
      },
    modern
  ),
  own("uses one id for all requests", "client-id-unique", { sameId: true }),
  own("asks before it is answered", "client-waits-for-initialize", { hurries: true }),
  own("asks before it says hello", "client-initialize-first", { skipsInitialize: true }),
  own("speaks every version", "client-version-disconnects", { takesAnyVersion: true }),
  own("reads pages without an end", "client-pages-end", { readsOn: true }),
  own("knows no streams", "client-supports-both", { jsonOnly: true }),
  own("has one token for all", "client-progress-token-unique", { sameToken: true }),
  own("has half a token", "client-progress-token-type", { fractionalToken: true }),
  own("dies of the unknown", "client-carries-on", { knowsAll: true }),
  own("dies of comments", "client-carries-on", { naiveSse: true }),
  own("trusts results", "client-crashes", { trusting: true }),
  own("waits for ever", "client-hangs", { patient: true }),
  own("comes back at once", "client-retry-respected", { impatient: true }),
  own("never comes back", "client-stream-polled", { resigned: true }),
  own("answers notifications", "client-notification-no-response", { answersAll: true }),
  own("says yes", "answers-only-what-it-declared", { agreeable: true }),
  own("cancels its greeting", "client-initialize-not-cancelled", { cancelsInitialize: true }),
  own("sends arrays", "client-post-single", { batches: true })
]
