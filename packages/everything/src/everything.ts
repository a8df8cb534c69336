/**
 * The reference server: every feature of the protocol in one layer, to be served over any transport.
 */
import { McpServer } from "@effect-mcp/server"
import type { Revision } from "@effect-mcp/protocol"
import { Effect, Layer, Queue } from "effect"
import { asking } from "./asking.ts"
import { inputRequired } from "./inputRequired.ts"
import { practical } from "./practical.ts"
import { prompts } from "./prompts.ts"
import { resources } from "./resources.ts"
import { State } from "./state.ts"
import { tasks } from "./tasks.ts"
import { tools } from "./tools.ts"

const featuresOf = ({ store }: Options) =>
  Layer.mergeAll(tools, asking, practical, resources, prompts, inputRequired, tasks(store))

export interface Options {
  /** The only revision to speak. Default: all. */
  readonly revision?: Revision.Version | undefined
  /** Items per page of a list. Default: the server's. */
  readonly pageSize?: number | undefined
  /** Where tasks are kept. Default: in this process. */
  readonly store?: Parameters<typeof tasks>[0]
}

/** All features, with tasks in this process; their handlers share a `State`. */
export const features = featuresOf({})

/** Tells the client that asked that its user's visit is over. Here that is as soon as the user has consented. */
const announceVisits = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* McpServer.McpServer
    const { visits } = yield* State
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.gen(function* () {
          const { sessionId, elicitationId } = yield* Queue.take(visits)
          const session = (yield* server.sessions).find(({ id }) => id === sessionId)
          if (session !== undefined) yield* server.elicitationComplete(session, elicitationId)
        })
      )
    )
  })
)

/** The server, with a state of its own. */
export const layer = ({ pageSize, revision, store }: Options = {}): Layer.Layer<McpServer.McpServer> =>
  announceVisits.pipe(
    Layer.provideMerge(
      McpServer.layer({
        name: "effect-mcp-everything",
        version: "0.1.0",
        title: "Everything",
        description: "The reference server of effect-mcp.",
        instructions: "Call anything: every feature of the protocol is here, and nothing here matters.",
        features: featuresOf({ store }),
        revisions: revision === undefined ? undefined : [revision],
        pageSize
      })
    ),
    Layer.provide(State.layer)
  )
