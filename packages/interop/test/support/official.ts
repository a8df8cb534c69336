/** Common interface of both official TypeScript clients, connected to the reference server in a separate process. */
import { Context, Effect, PubSub, type Scope } from "effect"
import { fileURLToPath } from "node:url"

export interface Notification {
  readonly method: string
  readonly params?: any
}

export interface CallOptions {
  readonly onprogress?: (progress: {
    progress: number
    total?: number | undefined
    message?: string | undefined
  }) => void
  readonly signal?: AbortSignal
}

/** Promises like those the SDKs return; only the tests check the results. */
export interface OfficialClient {
  getServerCapabilities(): unknown
  getServerVersion(): unknown
  getInstructions(): string | undefined
  ping(): Promise<unknown>
  /** One page. */
  listTools(params: { cursor?: string }): Promise<any>
  /** All pages, as this SDK fetches them. */
  allTools(): Promise<ReadonlyArray<any>>
  callTool(name: string, args?: object, options?: CallOptions): Promise<any>
  listResources(): Promise<any>
  listResourceTemplates(): Promise<any>
  readResource(params: { uri: string }): Promise<any>
  subscribeResource(params: { uri: string }): Promise<unknown>
  unsubscribeResource(params: { uri: string }): Promise<unknown>
  listPrompts(): Promise<any>
  getPrompt(params: { name: string; arguments?: { [name: string]: string } }): Promise<any>
  complete(params: any): Promise<any>
  setLoggingLevel(level: any): Promise<unknown>
  sendRootsListChanged(): Promise<void>
  close(): Promise<void>
}

export type Question = "sampling/createMessage" | "elicitation/create" | "roots/list"

/** Input of a connector: where notifications go, and who answers the server's questions. */
export interface Host {
  readonly args: ReadonlyArray<string>
  readonly notify: (notification: Notification) => void
  readonly answer: (question: Question, params: any) => any
}

export const clientInfo = { name: "official", version: "1.0.0" }
export const capabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true }
}

export class Official extends Context.Service<
  Official,
  {
    readonly client: OfficialClient
    readonly notifications: PubSub.PubSub<Notification>
    /** The tests' answers to the server's questions, by method. */
    readonly answers: Map<Question, (params: any) => any>
  }
>()("test/Official") {}

export type Connector = (host: Host) => Promise<OfficialClient>

export const serverFile = fileURLToPath(new URL("../../src/reference/server.ts", import.meta.url))

export const connect = Effect.fnUntraced(function* (
  connector: Connector,
  args: ReadonlyArray<string> = []
): Effect.fn.Return<Official["Service"], never, Scope.Scope> {
  const notifications = yield* PubSub.unbounded<Notification>()
  const answers: Official["Service"]["answers"] = new Map()
  const host: Host = {
    args: [serverFile, "--stdio", ...args],
    notify: (notification) => void PubSub.publishUnsafe(notifications, notification),
    answer: (question, params) => {
      const answer = answers.get(question)
      if (answer === undefined) throw new Error(`The test answers no ${question}`)
      return answer(params)
    }
  }
  const client = yield* Effect.acquireRelease(
    Effect.promise(() => connector(host)),
    (client) => Effect.promise(() => client.close())
  )
  return { client, notifications, answers }
})
