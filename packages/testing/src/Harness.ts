/**
 * Different ways to connect a client to a set of features, so that one test can cover every transport and every revision.
 *
 * This module contains the two harnesses that need no extra process: one in memory, and one that sends bytes in uneven chunks. To test a
 * real endpoint, define your own harness. It can ignore `features` if the server runs in another process.
 */
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Memory from "@effect-mcp/core/Memory"
import type { Transport } from "@effect-mcp/core/Transport"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as McpServer from "@effect-mcp/server/McpServer"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Faulty from "./wire/Faulty.ts"
import * as McpTest from "./McpTest.ts"

/** A way to connect a client and a server. */
export interface Harness {
  readonly name: string
  /** Connects a client to a server with these features, using this revision. Both close with the scope. */
  readonly connect: <E, R>(
    features: Layer.Layer<never, E, R>,
    revision: Revision,
    options?: McpTest.Options
  ) => Effect.Effect<
    McpClient["Service"],
    E | McpTest.TestConnectError,
    Scope.Scope | Exclude<R, McpServer.Registries | RequestServices>
  >
}

/** Creates a harness from a pair of transports. */
export const overWire = (
  name: string,
  wire: Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope>
): Harness => ({
  name,
  connect: (features, revision, options) => McpTest.connect(features, revision, { wire, ...options })
})

/** Sends JSON text in memory. */
export const memory: Harness = overWire("memory", Memory.pair())

const bytePair: Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> = Effect.gen(
  function* () {
    const toServer = yield* Queue.bounded<Uint8Array, Cause.Done>(4)
    const toClient = yield* Queue.bounded<Uint8Array, Cause.Done>(4)
    const end = (input: typeof toServer, output: typeof toServer, seed: number) =>
      Duplex.make({
        incoming: Faulty.split({ seed })(Stream.fromQueue(input)),
        write: (lines) => Stream.runForEach(Stream.encodeText(lines), (chunk) => Queue.offer(output, chunk))
      })
    const client = yield* end(toClient, toServer, 1)
    const server = yield* end(toServer, toClient, 2)
    yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(toServer), Queue.end(toClient)))
    return [client, server] as const
  }
)

/** Sends newline-delimited JSON as bytes, like stdio and sockets do, in chunks of arbitrary size. */
export const bytes: Harness = overWire("bytes", bytePair)

/** A combination of harness and revision. */
export interface Case extends Harness {
  /** Suffix for test titles, such as `2025-06-18 over memory`. */
  readonly title: string
  readonly revision: Revision
  /** Connects a client to a server with these features, using the case's revision. */
  readonly open: <E, R>(
    features: Layer.Layer<never, E, R>,
    options?: McpTest.Options
  ) => ReturnType<typeof McpTest.connect<E, R>>
}

/**
 * Returns every combination of revision and harness (by default `memory` and `bytes`), for use with `describe.each`.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 * import { Harness } from "@effect-mcp/testing"
 *
 * for (const { title } of Harness.cases(Revision.all).slice(0, 2)) console.log(title)
 * // => 2024-11-05 over memory
 * // => 2025-03-26 over memory
 * ```
 */
export const cases = (
  revisions: ReadonlyArray<Revision>,
  harnesses: ReadonlyArray<Harness> = [memory, bytes]
): ReadonlyArray<Case> =>
  harnesses.flatMap((harness) =>
    revisions.map((revision) => ({
      ...harness,
      revision,
      title: `${revision.version} over ${harness.name}`,
      open: (features, options) => harness.connect(features, revision, options)
    }))
  )
