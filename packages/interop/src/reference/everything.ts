/** The reference server: every feature of the protocol in one layer, which can be served over any transport. */
import { McpServer } from "@effect-mcp/server"
import type { Revision } from "@effect-mcp/protocol"
import { Effect, Layer, Queue } from "effect"
import { asking } from "./asking.ts"
import { inputRequired } from "./inputRequired.ts"
import { practical } from "./practical.ts"
import { prompts } from "./prompts.ts"
import { resources } from "./resources.ts"
import { State } from "./state.ts"
import { skills } from "./skills.ts"
import { tasks } from "./tasks.ts"
import { tools } from "./tools.ts"

const featuresOf = ({ store }: Options) =>
  Layer.mergeAll(tools, asking, practical, resources, prompts, inputRequired, skills, tasks(store))

export interface Options {
  /** The only revision to speak. Default: all. */
  readonly revision?: Revision.Version | undefined
  /** Items per page of a list. Default: the server's default. */
  readonly pageSize?: number | undefined
  /** Where to keep tasks. Default: in this process. */
  readonly store?: Parameters<typeof tasks>[0]
}

/** All features, with tasks in this process. Their handlers share a `State`. */
export const features = featuresOf({})

/** Tells the client that asked that its user's visit is complete. Here, that is as soon as the user has consented. */
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

/** The server, with a separate state. */
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
        // The conformance suite checks that schemas arrive as they were written.
        portability: "off",
        revisions: revision === undefined ? undefined : [revision],
        pageSize
      })
    ),
    Layer.provide(State.layer)
  )
