/** The lines of a cassette: messages between a client and a server as JSON, one per line. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The cassette can't be read. The message names the file and line. */
export class CassetteError extends Data.TaggedError("CassetteError")<{ readonly message: string }> {}

const Head = Schema.Struct({
  /** Version of the file format. */
  cassette: Schema.Literal(1),
  /** Display name of the recorded server. */
  server: Schema.String
})

/** A single message. */
export const CassetteEntry = Schema.Struct({
  from: Schema.Literals(["client", "server"]),
  /** Milliseconds since the recording began. */
  at: Schema.Number,
  /** Conversation number, because HTTP may have several at once. Default 1. */
  session: Schema.optionalKey(Schema.Number),
  /** The message. */
  message: Schema.Json,
  /** For HTTP: ID of the request whose response carried the message. */
  of: Schema.optionalKey(Schema.Union([Schema.String, Schema.Number]))
})
export type CassetteEntry = typeof CassetteEntry.Type

/** An entry and its line number in the file. */
export interface PlacedEntry extends CassetteEntry {
  readonly line: number
}

const decodeHead = Schema.decodeUnknownEffect(Schema.fromJsonString(Head))
const decodeEntry = Schema.decodeUnknownEffect(Schema.fromJsonString(CassetteEntry))

export const head = (server: string): string => JSON.stringify({ cassette: 1, server })

/** Parses a cassette. Errors refer to it as `file`. */
export const parse = Effect.fnUntraced(function* (text: string, file: string) {
  const lines = text.split("\n").map((text, index) => ({ text: text.trim(), line: index + 1 }))
  const [first, ...rest] = lines.filter(({ text }) => text !== "")
  const wrong = (line: number, why: string) =>
    new CassetteError({ message: `${file}, line ${line}: ${why}. A cassette is written by effect-mcp record` })
  if (first === undefined) return yield* wrong(1, "the file is empty")
  const unread = (line: number) => (error: Schema.SchemaError) => wrong(line, error.message.replaceAll("\n", " "))
  yield* Effect.mapError(decodeHead(first.text), unread(first.line))
  return yield* Effect.forEach(rest, ({ line, text }) =>
    Effect.mapBoth(decodeEntry(text), {
      onSuccess: (entry): PlacedEntry => ({ ...entry, line }),
      onFailure: unread(line)
    })
  )
})
