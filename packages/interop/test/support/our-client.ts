/** Our client with a host whose answers the tests choose, connected to a server in a separate process. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { McpClient, TaskReceiver } from "@effect-mcp/client"
import { Elicitation, Roots, Sampling } from "@effect-mcp/core"
import type { ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import type { Root } from "@effect-mcp/protocol/model/Root"
import type { CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import { Context, Effect, Layer, Queue, type Scope, Stream, SubscriptionRef } from "effect"
import { fileURLToPath } from "node:url"

export interface Answers {
  createMessage: (params: any) => CreateMessageResult
  form: (params: any) => ElicitResult
  url: (params: any) => ElicitResult
}

export class Host extends Context.Service<
  Host,
  {
    readonly answers: Answers
    readonly roots: SubscriptionRef.SubscriptionRef<ReadonlyArray<Root>>
    /** Messages that the client could not process. */
    readonly dropped: Array<string>
  }
>()("test/Host") {}

const unexpected = (question: string) => () => {
  throw new Error(`The test expects no ${question}`)
}

const host = Layer.effect(
  Host,
  Effect.map(SubscriptionRef.make<ReadonlyArray<Root>>([{ uri: "file:///old", name: "Old" }]), (roots) => ({
    roots,
    dropped: [],
    answers: { createMessage: unexpected("sampling"), form: unexpected("form"), url: unexpected("url") }
  }))
)

const features = Layer.unwrap(
  Effect.map(Host, ({ answers, roots }) =>
    Layer.mergeAll(
      Sampling.layer((params) => Effect.sync(() => answers.createMessage(params))),
      Elicitation.layer({
        form: (params) => Effect.sync(() => answers.form(params)),
        url: (params) => Effect.sync(() => answers.url(params))
      }),
      Roots.layerRef(roots),
      TaskReceiver.layerMemory()
    )
  )
)

/** A client with a host, wherever its server is. */
export const layerHosted = <E>(connect: (options: McpClient.Options) => Layer.Layer<McpClient.McpClient, E>) =>
  Layer.unwrap(
    Effect.map(Host, ({ dropped }) =>
      connect({
        dropped: (reason) => void dropped.push(reason),
        // A slow start does not mean the older era, which would then be tried too, and its answer dropped.
        probeTimeout: "20 seconds"
      })
    )
  ).pipe(Layer.provide(features), Layer.provideMerge(host))

/** The client of `node file ...args`, and its host. */
export const layerClient = (
  args: ReadonlyArray<string>,
  options: Partial<Parameters<typeof McpClient.layerStdio>[0]> = {}
) =>
  layerHosted((hosted) =>
    McpClient.layerStdio({ command: process.execPath, args, env: compileCache, ...hosted, ...options }).pipe(
      Layer.provide(NodeServices.layer)
    )
  )

export const client = McpClient.McpClient

export const using = <A, E, R>(f: (mcp: McpClient.McpClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(client, f)
export const textOf = ({ content: [block] }: CallToolResult): string => (block?.type === "text" ? block.text : "")
export const call = (name: string, args?: { readonly [name: string]: unknown }) =>
  using((mcp) => Effect.map(mcp.callToolByName(name, args), textOf))

/** Starts to consume a stream now; its items come out of the queue. */
export const listening = <A, E>(stream: Stream.Stream<A, E>): Effect.Effect<Queue.Queue<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<A>()
    yield* Effect.forkScoped(
      Stream.runForEach(stream, (value) => Queue.offer(queue, value)),
      { startImmediately: true }
    )
    // A stream may take some turns to start.
    yield* Effect.yieldNow
    return queue
  })

/**
 * Acts under new names, first `leaf`, until an event arrives: if listening is a separate request, its start is not announced.
 */
export const untilHeard = <A, E, R>(
  heard: Queue.Queue<A>,
  act: (name: string) => Effect.Effect<unknown, E, R>
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let times = 0; times === 0 || (yield* Queue.size(heard)) === 0; times++) {
      const letters = `${times}`.replaceAll(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")
      yield* act(times === 0 ? "leaf" : `leaf${letters}`)
    }
    return yield* Queue.take(heard)
  })

export const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
