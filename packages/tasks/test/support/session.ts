/** Clients of 2025-11-25 that only send and record: in memory, and over HTTP with a stream for each response. */
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import * as Transport from "@effect-mcp/core/Transport"
import type { Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { quiesce } from "@effect-mcp/testing"
import { Deferred, Effect, type Layer, Queue, type Scope } from "effect"
import { serve, type Seen } from "./client.ts"

/**
 * A question of the server, and its source: `wire`, `get`, or the method of the request whose response contained it.
 */
export interface Asked {
  readonly id: unknown
  readonly via: string
  readonly method: string
  readonly params: any
  readonly answer: (result: object) => Effect.Effect<void>
  readonly refuse: (code: number, message: string) => Effect.Effect<void>
}

export interface Note {
  readonly via: string
  readonly method: string
  readonly params?: any
}

export interface Client {
  readonly initialized: Seen
  /** The methods of all messages that arrived, only in memory; `answer` for answers. */
  readonly order: ReadonlyArray<string>
  /** Every notification that arrived. */
  readonly notes: ReadonlyArray<Note>
  /** Every question that arrived, answered or not. */
  readonly asked: ReadonlyArray<Asked>
  readonly nextAsked: Effect.Effect<Asked>
  readonly request: (method: string, params?: object) => Effect.Effect<Seen, Peer.RequestError>
  readonly notify: (method: string, params: object) => Effect.Effect<void>
  /** The error that a request is answered with. */
  readonly refused: (method: string, params?: object) => Effect.Effect<McpError.McpError>
  /** Calls a tool as a task, and returns the task. */
  readonly start: (name: string, task?: object, meta?: object) => Effect.Effect<Seen, Peer.RequestError>
  readonly get: (taskId: string) => Effect.Effect<Seen, Peer.RequestError>
  readonly result: (taskId: string) => Effect.Effect<Seen, Peer.RequestError>
  /** Opens the stream of the session, and returns an effect that closes it. In memory it is always open. */
  readonly listen: Effect.Effect<Effect.Effect<void>>
  /** Opens it until the test ends. */
  readonly open: Effect.Effect<void>
}

export interface Options {
  readonly capabilities?: object
  readonly principal?: Principal["Service"] | undefined
  readonly version?: string
}

export const able = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

const initializing = ({ capabilities = able, version = "2025-11-25" }: Options) => ({
  protocolVersion: version,
  capabilities,
  clientInfo: { name: "raw", version: "0" }
})

/** The part of a client that does not depend on its wire. */
const clientOf = (
  inbox: Inbox,
  initialized: Seen,
  request: Client["request"],
  notify: Client["notify"],
  listen: Client["listen"]
): Client => ({
  initialized,
  order: inbox.order,
  notes: inbox.notes,
  asked: inbox.asked,
  nextAsked: Queue.take(inbox.questions),
  request,
  notify,
  refused: (method, params) =>
    Effect.matchEffect(request(method, params), {
      onFailure: (error) => (error instanceof McpError.McpError ? Effect.succeed(error) : Effect.die(error)),
      onSuccess: (result) => Effect.die(new Error(`${method} was answered: ${JSON.stringify(result)}`))
    }),
  start: (name, task = {}, _meta) =>
    Effect.map(request("tools/call", { name, arguments: {}, task, ...(_meta && { _meta }) }), ({ task }) => task),
  get: (taskId) => request("tasks/get", { taskId }),
  result: (taskId) => request("tasks/result", { taskId }),
  listen,
  open: Effect.asVoid(listen)
})

class Inbox {
  readonly order: Array<string> = []
  readonly notes: Array<Note> = []
  readonly asked: Array<Asked> = []
  readonly questions = Effect.runSync(Queue.unbounded<Asked>())

  ask(asked: Asked): void {
    this.asked.push(asked)
    Queue.offerUnsafe(this.questions, asked)
  }
}

/** Another client of a server, in memory. */
export const connect = Effect.fnUntraced(function* (
  server: McpServer.McpServer["Service"],
  options: Options = {}
): Effect.fn.Return<Client, Peer.RequestError, Scope.Scope> {
  const [near, far] = yield* Memory.pair()
  yield* server.connect(far, { principal: options.principal })
  const inbox = new Inbox()
  // Progress and cancellations do not reach the handlers of a peer.
  const noted = Transport.tap(near, (inbound) => {
    if (inbound._tag !== "Message") return
    const { message } = inbound
    inbox.order.push("method" in message ? message.method : "answer")
    if ("method" in message && !("id" in message)) {
      inbox.notes.push({ via: "wire", method: message.method, params: message.params })
    }
  })
  const peer = yield* Peer.make(noted, {
    request: ({ request: { id, method, params } }) =>
      Effect.gen(function* () {
        const answered = yield* Deferred.make<unknown, McpError.McpError>()
        inbox.ask({
          id,
          via: "wire",
          method,
          params,
          answer: (result) => Effect.asVoid(Deferred.succeed(answered, result)),
          refuse: (code, message) => Effect.asVoid(Deferred.fail(answered, new McpError.McpError({ code, message })))
        })
        return yield* Deferred.await(answered)
      }),
    notification: () => {}
  })
  const request: Client["request"] = (method, params) =>
    Effect.map(peer.request(method, { ...params }), (result) => result as Seen) // of any shape
  const initialized = yield* request("initialize", initializing(options))
  peer.notify("notifications/initialized")
  yield* quiesce
  const notify: Client["notify"] = (method, params) => Effect.sync(() => peer.notify(method, { ...params }))
  return clientOf(inbox, initialized, request, notify, Effect.succeed(Effect.void))
})

type Features = Layer.Layer<never, never, McpServer.Registries>

/** A server with the features, and an in-memory client. */
export const inMemory = (
  features: Features,
  options?: Options
): Effect.Effect<Client, Peer.RequestError, Scope.Scope> =>
  Effect.flatMap(serve(features), (server) => connect(server, options))

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Passes each event of a body to `take`, until its end. */
const readEvents = async (reader: Reader, take: (message: any) => void): Promise<void> => {
  const decoder = new TextDecoder()
  let text = ""
  for (let chunk = await reader.read(); chunk.value !== undefined; chunk = await reader.read()) {
    text += decoder.decode(chunk.value, { stream: true })
    const events = text.split("\n\n")
    text = events.pop() ?? ""
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1]
      if (data !== undefined) take(JSON.parse(data))
    }
  }
}

export interface HttpClient extends Client {
  /** The media type of the last response to a method. */
  readonly types: { readonly [method: string]: string | null }
  /** Another session of the same server. */
  readonly again: Effect.Effect<HttpClient, Peer.RequestError>
  /** A session that declares other capabilities. */
  readonly withCapabilities: (capabilities: object) => Effect.Effect<HttpClient, Peer.RequestError>
}

/** A server with the features behind a fetch handler, and a client with a separate session. */
export const overHttp = (
  features: Features,
  options: Options = {}
): Effect.Effect<HttpClient, Peer.RequestError, Scope.Scope> =>
  Effect.gen(function* () {
    const { dispose, handler } = McpServer.toWebHandler(McpServer.layer({ name: "test", version: "1.0.0", features }), {
      path: "/mcp"
    })
    yield* Effect.addFinalizer(() => Effect.promise(dispose))
    return yield* httpSession((request) => handler(request), options)
  })

const httpSession = (
  handler: (request: Request) => Promise<Response>,
  options: Options
): Effect.Effect<HttpClient, Peer.RequestError> =>
  Effect.gen(function* () {
    const inbox = new Inbox()
    const types: { [method: string]: string | null } = {}
    let session: { [name: string]: string } = {}
    let lastId = 0
    const send = (method: string, body?: object, signal?: AbortSignal): Promise<Response> =>
      handler(
        new Request("http://localhost:3000/mcp", {
          method,
          signal: signal ?? null,
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...session },
          ...(body && { body: JSON.stringify({ jsonrpc: "2.0", ...body }) })
        })
      )
    const post = (body: object) => Effect.asVoid(Effect.promise(() => send("POST", body)))
    const received =
      (via: string) =>
      (message: any): void => {
        const { id, method, params } = message
        if (method === undefined) return
        if (id === undefined) return void inbox.notes.push({ via, method, params })
        const answer = (result: object) => post({ id, result })
        inbox.ask({
          id,
          via,
          method,
          params,
          answer,
          refuse: (code, message) => post({ id, error: { code, message } })
        })
      }
    const request: Client["request"] = (method, params) =>
      Effect.callback((resume) => {
        const id = ++lastId
        const leaving = new AbortController()
        const settle = ({ error, result }: any): void =>
          resume(error === undefined ? Effect.succeed(result) : Effect.fail(new McpError.McpError(error)))
        const take = (message: any): void => {
          if (message.id === id && message.method === undefined) settle(message)
          else received(method)(message)
        }
        const exchange = async (): Promise<void> => {
          const response = await send("POST", { id, method, params }, leaving.signal)
          types[method] = response.headers.get("content-type")
          if (method === "initialize") session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" }
          if (types[method]?.startsWith("text/event-stream") !== true) return take(await response.json())
          const reader = response.body!.getReader()
          leaving.signal.addEventListener("abort", () => void reader.cancel())
          await readEvents(reader, take)
        }
        exchange().catch((error: unknown) => resume(Effect.die(error)))
        // The client hangs up.
        return Effect.sync(() => leaving.abort())
      })
    const listen: Client["listen"] = Effect.promise(async () => {
      const reader = (await send("GET")).body!.getReader()
      void readEvents(reader, received("get"))
      return Effect.promise(() => reader.cancel())
    })
    const initialized = yield* request("initialize", initializing(options))
    session["mcp-protocol-version"] = options.version ?? "2025-11-25"
    yield* post({ method: "notifications/initialized" })
    const again = Effect.suspend(() => httpSession(handler, options))
    const withCapabilities: HttpClient["withCapabilities"] = (capabilities) =>
      httpSession(handler, { ...options, capabilities })
    return {
      ...clientOf(inbox, initialized, request, (method, params) => post({ method, params }), listen),
      types,
      again,
      withCapabilities
    }
  })

/** Both ways to connect. */
export const transports = [
  { name: "in memory", open: inMemory },
  { name: "over HTTP", open: overHttp }
] as const
