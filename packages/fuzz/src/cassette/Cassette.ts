/**
 * Records conversations with a real server and replays them as a test double, for client tests.
 *
 * You can record a cassette with `effect-mcp record` or with a `Recorder`. A cassette contains only messages. Headers are not recorded, and
 * secrets recognizable by name or format are redacted.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Framing from "@effect-mcp/core/Framing"
import * as Transport from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { CassetteError, parse, type PlacedEntry } from "./Entry.ts"
import { Replay } from "./Replay.ts"
import { at } from "../model/json.ts"

export { CassetteError, type CassetteEntry as Entry } from "./Entry.ts"
export { Recorder, type Options as RecorderOptions } from "./Recorder.ts"
export { redact, redacted, redactName } from "./redact.ts"

/** A cassette that has been read. */
export interface Cassette {
  /** The revision used in the recording. */
  readonly revision: Revision.Version
  /**
   * Opens a connection to the recorded server. Each connection plays the next recorded conversation, and the last one is repeated when
   * there are no more.
   */
  readonly open: Effect.Effect<Transport.Transport>
  /** How clients have differed from the recording so far, as sentences. */
  readonly differences: Effect.Effect<ReadonlyArray<string>>
  /** Recorded requests that the newest connection hasn't received yet, as sentences. */
  readonly left: Effect.Effect<ReadonlyArray<string>>
}

/** Returns the version in the server's answer to `initialize`, or else the version that the requests declare. */
const revisionOf = (entries: ReadonlyArray<PlacedEntry>): Revision.Version | undefined => {
  const messages = entries.map(({ message }) => message)
  const chosen = messages
    .map((message) => at(message, "result", "protocolVersion"))
    .find((found) => found !== undefined)
  const declared = messages.map((message) => at(message, "params", "_meta", Meta.protocolVersion))
  const version = chosen ?? declared.find((found) => found !== undefined)
  return typeof version === "string" ? Revision.get(version)?.version : undefined
}

/** Creates the wire that replays one conversation. */
const wire = (file: string, entries: ReadonlyArray<PlacedEntry>, onDifference: (message: string) => void) => {
  const early: Array<Transport.Inbound> = []
  let push = (inbound: Transport.Inbound): void => void early.push(inbound)
  const incoming = Transport.fromCallback((next) =>
    Effect.callback<void>(() => {
      push = next
      for (const inbound of early.splice(0)) next(inbound)
    })
  )
  const receive = (message: object) => push(Framing.decode(JSON.stringify(message)))
  const replay = new Replay({ file, entries, receive, onDifference })
  const transport: Transport.Transport = {
    ...incoming,
    sink: {
      send: (message) => {
        const members = JsonRpc.isBatch(message) ? message : [message]
        for (const member of members) replay.take(JSON.parse(JsonRpc.encode(member)))
      },
      writable: () => true,
      ready: Effect.void
    },
    broken: Effect.never
  }
  return { replay, transport }
}

/** Creates a cassette from its text. Errors refer to it as `file`. */
export const make = (text: string, file: string): Effect.Effect<Cassette, CassetteError> =>
  Effect.gen(function* () {
    const entries = yield* parse(text, file)
    const revision = revisionOf(entries)
    if (revision === undefined) {
      return yield* new CassetteError({ message: `${file} has no conversation: no revision was negotiated in it` })
    }
    const sessions = [...Map.groupBy(entries, ({ session = 1 }) => session).values()]
    const differences: Array<string> = []
    let opened = 0
    let newest: Replay | undefined
    return {
      revision,
      open: Effect.sync(() => {
        const session = sessions[Math.min(opened++, sessions.length - 1)] ?? []
        const { replay, transport } = wire(file, session, (message) => void differences.push(message))
        newest = replay
        return transport
      }),
      differences: Effect.sync(() => [...differences]),
      left: Effect.sync(() => newest?.left ?? [])
    }
  })

/**
 * Reads a cassette.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Cassette } from "@effect-mcp/fuzz"
 * import { Effect } from "effect"
 *
 * // Every recorded request was sent, and no other one.
 * export const test = Effect.gen(function* () {
 *   const cassette = yield* Cassette.read("test/weather.jsonl")
 *   const client = yield* McpClient.open(cassette.open, { revisions: [cassette.revision] })
 *   yield* client.callToolByName("forecast", { city: "Oslo" })
 *   return [...(yield* cassette.differences), ...(yield* cassette.left)]
 * })
 * ```
 */
export const read = (file: string): Effect.Effect<Cassette, CassetteError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      ({ message }) => new CassetteError({ message: `Cannot read ${file}: ${message}` })
    )
    return yield* make(text, file)
  })

/**
 * Provides a client of a recorded server (`effect-mcp record FILE -- COMMAND`), using the recorded revision. Each request receives its
 * recorded response, regardless of its ID and progress token. A request that wasn't recorded fails with an error that shows the difference
 * and the line in the file.
 * @example
 * ```ts
 * import { NodeServices } from "@effect/platform-node"
 * import { McpClient } from "@effect-mcp/client"
 * import { Cassette } from "@effect-mcp/fuzz"
 * import { Effect, Layer } from "effect"
 *
 * const weather = Cassette.replayed("test/weather.jsonl").pipe(Layer.provide(NodeServices.layer))
 *
 * export const test = Effect.gen(function* () {
 *   const client = yield* McpClient.McpClient
 *   return yield* client.callToolByName("forecast", { city: "Oslo" })
 * }).pipe(Effect.provide(weather))
 * ```
 */
export const replayed = (
  file: string,
  options?: McpClient.Options
): Layer.Layer<McpClient.McpClient, CassetteError | McpClient.ConnectError, FileSystem.FileSystem> =>
  Layer.effect(
    McpClient.McpClient,
    Effect.flatMap(read(file), ({ open, revision }) => McpClient.open(open, { revisions: [revision], ...options }))
  )
