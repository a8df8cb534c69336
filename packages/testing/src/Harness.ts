/**
 * Ways to connect a client to features, so that one test body runs over every wire and every revision.
 *
 * Owns the two wires that need no process: memory, and bytes in odd pieces. A test of a real endpoint brings a harness of its own; if
 * its server is another process, it ignores `features` and starts what it must.
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
import * as Faulty from "./Faulty.ts"
import * as McpTest from "./McpTest.ts"

export interface Harness {
  readonly name: string
  /** A client of a server with these features, speaking that revision; both end with the scope. */
  readonly connect: <E, R>(
    features: Layer.Layer<never, E, R>,
    revision: Revision,
    options?: McpTest.Options
  ) => Effect.Effect<
    McpClient["Service"],
    E | McpTest.ConnectError,
    Scope.Scope | Exclude<R, McpServer.Registries | RequestServices>
  >
}

/** A harness over any pair of duplex wires. */
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

/** What stdio and sockets do, without them: newline-delimited JSON as bytes, cut wherever it pleases the wire. */
export const bytes: Harness = overWire("bytes", bytePair)

/** One combination to run a suite under. */
export interface Case extends Harness {
  /** For a title: `2025-06-18 over memory`. */
  readonly title: string
  readonly revision: Revision
  /** Connects over this case's wire in this case's revision. */
  readonly open: <E, R>(
    features: Layer.Layer<never, E, R>,
    options?: McpTest.Options
  ) => ReturnType<typeof McpTest.connect<E, R>>
}

/** Every revision over every harness (default: those here), for `describe.each`. */
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
