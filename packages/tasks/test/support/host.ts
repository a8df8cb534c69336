/** A scripted model behind a host without tasks: it only calls tools, and does what their results say. */
import type * as Peer from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { Effect, Fiber, type Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Client from "./client.ts"
import type { Seen } from "./client.ts"
import * as Session from "./session.ts"

export type Call<E> = (name: string, args: object) => Effect.Effect<Seen, E>

interface Next {
  readonly tool: string
  readonly arguments: { readonly [name: string]: any }
}

/** The call that a result asks for next, as a model reads it in the text. */
export const nextInText = ({ content }: Seen): Next | undefined => {
  const [, tool, args] = /call (\S+) with (\{.*?\})/.exec(content?.[0]?.text ?? "") ?? []
  return tool === undefined || args === undefined ? undefined : { tool, arguments: JSON.parse(args) }
}

/** The call that a result asks for next. Revisions before 2025-06-18 have no structured content. */
export const nextOf = (result: Seen): Next | undefined =>
  result["structuredContent"] === undefined ? nextInText(result) : result["structuredContent"].next

/** Calls a tool, and then whatever each result asks for. Returns all results. */
export const followed = <E>(
  call: Call<E>,
  name: string,
  { args = {}, read = nextOf }: { readonly args?: object; readonly read?: typeof nextOf } = {}
): Effect.Effect<ReadonlyArray<Seen>, E> =>
  Effect.gen(function* () {
    const results = [yield* call(name, args)]
    for (let last = results[0]; last !== undefined; last = results.at(-1)) {
      const next = read(last)
      if (next === undefined) break
      results.push(yield* call(next.tool, next.arguments))
    }
    return results
  })

/** Fails a call that takes longer than a host waits, by the test clock. */
export const within =
  <E>(ceiling: number, call: Call<E>): Call<E> =>
  (name, args) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(call(name, args), { startImmediately: true })
      for (let waited = 0; waited < ceiling; waited += 500) {
        if (fiber.pollUnsafe() !== undefined) return yield* Fiber.join(fiber)
        yield* TestClock.adjust(500)
      }
      return yield* Effect.die(new Error(`The host gave ${name} up after ${ceiling} ms`))
    })

/** A client without tasks. */
export interface Host {
  readonly call: Call<Peer.RequestError>
  readonly tools: Effect.Effect<ReadonlyArray<Seen>, Peer.RequestError>
}

type Features = Layer.Layer<never, never, McpServer.Registries>
export interface HostOptions {
  /** True if it supports elicitation. Default true. */
  readonly asks?: boolean
  /** True if it declares tasks of 2025-11-25. Default false. */
  readonly tasks?: boolean
  readonly principal?: Principal["Service"] | undefined
}

const capabilitiesOf = ({ asks = true, tasks = false }: HostOptions) => ({
  ...(asks ? { elicitation: { form: {} } } : undefined),
  ...(tasks ? { tasks: {} } : undefined)
})

export const connectStateful = (
  server: McpServer.McpServer["Service"],
  version: string,
  options: HostOptions = {}
): Effect.Effect<Host & { readonly session: Session.Client }, Peer.RequestError, Scope.Scope> =>
  Effect.map(
    Session.connect(server, { version, capabilities: capabilitiesOf(options), principal: options.principal }),
    (session) => ({
      session,
      call: (name, args) => session.request("tools/call", { name, arguments: args }),
      tools: Effect.map(session.request("tools/list"), ({ tools }) => tools)
    })
  )

export const connectStateless = (server: McpServer.McpServer["Service"], options: HostOptions = {}) =>
  Effect.map(
    Client.connect(server, { capabilities: capabilitiesOf(options), principal: options.principal }),
    (client): Host & { readonly client: typeof client } => ({
      client,
      call: (name, args) => client.call(name, args),
      tools: Effect.map(client.request("tools/list"), ({ tools }) => tools)
    })
  )

const versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const

/** A way to connect for each revision. */
export const hosts = versions.map((version) => ({
  version,
  open: (features: Features, options?: HostOptions): Effect.Effect<Host, Peer.RequestError, Scope.Scope> =>
    Effect.flatMap(Client.serve(features), (server): Effect.Effect<Host, Peer.RequestError, Scope.Scope> =>
      version === "2026-07-28" ? connectStateless(server, options) : connectStateful(server, version, options)
    )
}))
