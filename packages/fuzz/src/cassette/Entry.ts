/** The lines of a cassette: what a client and a server said to each other, as JSON, one message a line. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A cassette that cannot be read. The message names the file and the line. */
export class CassetteError extends Data.TaggedError("CassetteError")<{ readonly message: string }> {}

const Head = Schema.Struct({
  /** The version of the format. */
  cassette: Schema.Literal(1),
  /** The server that was recorded, as people recognise it. */
  server: Schema.String
})

/** One message. */
export const CassetteEntry = Schema.Struct({
  from: Schema.Literals(["client", "server"]),
  /** Milliseconds since the recording began. */
  at: Schema.Number,
  /** Numbers conversations: over HTTP there may be several. Default 1. */
  session: Schema.optionalKey(Schema.Number),
  /** The message. */
  message: Schema.Json,
  /** HTTP: the id of the request on whose response it came. */
  of: Schema.optionalKey(Schema.Union([Schema.String, Schema.Number]))
})
export type CassetteEntry = typeof CassetteEntry.Type

/** An entry, and the line of the file that has it. */
export interface PlacedEntry extends CassetteEntry {
  readonly line: number
}

const decodeHead = Schema.decodeUnknownEffect(Schema.fromJsonString(Head))
const decodeEntry = Schema.decodeUnknownEffect(Schema.fromJsonString(CassetteEntry))

export const head = (server: string): string => JSON.stringify({ cassette: 1, server })

/** The entries of a cassette. `file` is named in errors. */
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
