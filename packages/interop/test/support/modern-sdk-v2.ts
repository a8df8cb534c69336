/** The official TypeScript SDK v2 as a client of the reference server, at the given or detected revision. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { type Cause, Context, Effect, PubSub, type Scope } from "effect"
import { capabilities, clientInfo, type Notification, type Question, serverFile } from "./official.ts"

export class Modern extends Context.Service<
  Modern,
  {
    readonly client: Client
    readonly notifications: PubSub.PubSub<Notification>
    /** The tests' answers to the server's questions, by method. */
    readonly answers: Map<Question, (params: any) => any>
    /** Every message that crossed the wire after the era was detected. */
    readonly wire: { readonly sent: Array<any>; readonly received: Array<any> }
  }
>()("test/Modern") {}

/** Only the base class is probed in a separate process; this one is probed in place, and its server starts once. */
class InPlace extends StdioClientTransport {}

export interface Options {
  readonly mode?: VersionNegotiationMode
  readonly args?: ReadonlyArray<string>
  /** The server's address, if it is not a process of the client. */
  readonly url?: string
  readonly declare?: object
  /** Called with the tools when they have changed. */
  readonly toolsChanged?: (tools: ReadonlyArray<{ readonly name: string }>) => void
}

export const connect = Effect.fnUntraced(function* ({
  args = [],
  declare = capabilities,
  mode = { pin: "2026-07-28" },
  toolsChanged,
  url
}: Options = {}): Effect.fn.Return<Modern["Service"], Cause.UnknownError, Scope.Scope> {
  const notifications = yield* PubSub.unbounded<Notification>()
  const answers = new Map<Question, (params: any) => any>()
  const wire = { sent: new Array<any>(), received: new Array<any>() }
  const client = new Client(clientInfo, {
    capabilities: declare,
    versionNegotiation: { mode },
    ...(toolsChanged && { listChanged: { tools: { onChanged: (_error, tools) => toolsChanged(tools ?? []) } } })
  })
  const notify = (notification: Notification) => void PubSub.publishUnsafe(notifications, notification)
  client.fallbackNotificationHandler = async (notification) => notify(notification)
  const answer = (question: Question, params: unknown) => {
    const f = answers.get(question)
    if (f === undefined) throw new Error(`The test expects no ${question}`)
    return f(params)
  }
  const questions: ReadonlyArray<readonly [string, Question]> = [
    ["sampling", "sampling/createMessage"],
    ["elicitation", "elicitation/create"],
    ["roots", "roots/list"]
  ]
  for (const [capability, question] of questions) {
    if (capability in declare) client.setRequestHandler(question, ({ params }: any) => answer(question, params))
  }
  const Transport = mode === "auto" ? StdioClientTransport : InPlace
  const transport =
    url === undefined
      ? new Transport({
          command: process.execPath,
          args: [serverFile, "--stdio", ...args],
          env: compileCache,
          stderr: "ignore"
        })
      : new StreamableHTTPClientTransport(new URL(url))
  yield* Effect.acquireRelease(
    Effect.tryPromise(() => client.connect(transport)),
    () => Effect.promise(() => client.close())
  )
  // Both transports pass more arguments than the interface names.
  const onmessage = transport.onmessage as ((message: any, extra?: any) => void) | undefined
  const send = transport.send.bind(transport) as (message: any, options?: any) => Promise<void>
  Object.assign(transport, {
    onmessage: (message: any, extra: any) => {
      wire.received.push(message)
      onmessage?.(message, extra)
    },
    send: (message: any, options: any) => {
      wire.sent.push(message)
      return send(message, options)
    }
  })
  return { client, notifications, answers, wire }
})

export const using = <A>(f: (client: Client) => Promise<A>): Effect.Effect<A, Cause.UnknownError, Modern> =>
  Effect.flatMap(Modern, ({ client }) => Effect.tryPromise(() => f(client)))

export const call = (name: string, args: { [name: string]: unknown } = {}, more: object = {}) =>
  using((client): Promise<any> => client.callTool({ name, arguments: args, ...more }))

/** The error that a promise was rejected with. */
export const failure = <A>(effect: Effect.Effect<A, Cause.UnknownError, Modern>) =>
  Effect.map(Effect.flip(effect), ({ cause }) => cause as { readonly code: unknown; readonly data?: any })

export const answering = (question: Question, f: (params: any) => any) =>
  Effect.map(Modern, ({ answers }) => void answers.set(question, f))

/** Subscribes to notifications now. The returned effect waits for the next match. */
export const listening = Effect.map(
  Effect.flatMap(Modern, ({ notifications }) => PubSub.subscribe(notifications)),
  (subscription) =>
    Effect.fnUntraced(function* (fits: (notification: Notification) => boolean) {
      for (;;) {
        const next = yield* PubSub.take(subscription)
        if (fits(next)) return next
      }
    })
)

/** A tool of the reference server that asks in rounds. */
export const asks = (name: string) => call(`test_input_required_result_${name}`)
export const textOf = ({ content }: any): string => content[0].text

/** The progress of a call. */
export const progress = Effect.gen(function* () {
  const events: Array<number> = []
  const onprogress = ({ progress }: { readonly progress: number }) => void events.push(progress)
  yield* using((client) => client.callTool({ name: "test_tool_with_progress" }, { onprogress }))
  return events
})

/** Abandons a running call, and returns the server's report of it from an update of a resource. */
export const interruption = Effect.fnUntraced(function* (label: string) {
  const uri = "test://interruptions"
  const until = yield* listening
  const subscription = yield* using((client) => client.listen({ resourceSubscriptions: [uri] }))
  const aborter = new AbortController()
  const onprogress = () => aborter.abort("enough")
  yield* Effect.flip(
    using((client) => client.callTool({ name: "slow", arguments: { label } }, { signal: aborter.signal, onprogress }))
  )
  yield* until(({ method }) => method === "notifications/resources/updated")
  const { contents } = yield* using((client) => client.readResource({ uri }))
  yield* Effect.promise(() => subscription.close())
  return contents[0]
})
