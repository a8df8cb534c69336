/**
 * Ways to connect a client to features, so that one test runs over every transport and every revision.
 *
 * Owns the two that need no process: memory, and bytes in uneven pieces. A test of a real endpoint has a harness of its own; where its
 * server is another process, it ignores `features`.
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

/** One way to connect. */
export interface Harness {
  readonly name: string
  /** A client of a server with these features, in this revision. Both end with the scope. */
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

/** A harness over a pair of transports. */
export const overWire = (
  name: string,
  wire: Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope>
): Harness => ({
  name,
  connect: (features, revision, options) => McpTest.connect(features, revision, { wire, ...options })
})

/** JSON text in memory. */
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

/** As over stdio and sockets: newline-delimited JSON as bytes, in pieces of any size. */
export const bytes: Harness = overWire("bytes", bytePair)

/** One combination of harness and revision. */
export interface Case extends Harness {
  /** For titles of tests: `2025-06-18 over memory`. */
  readonly title: string
  readonly revision: Revision
  /** Connects by this harness, in this revision. */
  readonly open: <E, R>(
    features: Layer.Layer<never, E, R>,
    options?: McpTest.Options
  ) => ReturnType<typeof McpTest.connect<E, R>>
}

/**
 * Every revision over every harness (default `memory` and `bytes`), for `describe.each`.
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
