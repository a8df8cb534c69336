/**
 * A misbehaving server's behavior as data. It can be generated, stored as JSON, played, replayed and shrunk.
 *
 * The server is correct except for its faults. Each fault belongs to the nth request with a given method, so it still makes sense when
 * other faults are removed.
 */
import { all } from "@effect-mcp/protocol/Revision"
import * as Schema from "effect/Schema"

/** A recording may come from anywhere, so values that no server can use are rejected along with their location. */
const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Act = Schema.Union([
  /** Sends a message before the response: a notification, a stray response, or anything else. */
  Schema.TaggedStruct("Tell", { message: Schema.Json }),
  /** Asks the client a question before responding, and waits briefly for its answer. */
  Schema.TaggedStruct("Ask", {
    method: Schema.String,
    params: Schema.optionalKey(Schema.Json),
    /** ID of the question. Default: a new string. */
    id: Schema.optionalKey(Schema.Json)
  }),
  /** Writes this text, unchanged, to the event stream or stdout before the response. */
  Schema.TaggedStruct("Text", { text: Schema.String }),
  /** Replaces the result. Use null for a result that is null. */
  Schema.TaggedStruct("Result", { result: Schema.Json }),
  /** Replaces individual fields of the result. */
  Schema.TaggedStruct("Merge", { members: Schema.Record(Schema.String, Schema.Json) }),
  Schema.TaggedStruct("Error", { error: Schema.Json }),
  /** Responds with a different ID. */
  Schema.TaggedStruct("Id", { id: Schema.Json }),
  Schema.TaggedStruct("Twice", {}),
  Schema.TaggedStruct("Never", {}),
  Schema.TaggedStruct("Late", { milliseconds: between(0, 3_600_000) }),
  /** Includes a string with this many characters in the response. */
  Schema.TaggedStruct("Huge", { characters: between(0, 100_000_000) }),
  /** Writes the response in this many pieces, pausing after each one. */
  Schema.TaggedStruct("Pieces", { count: between(1, 1_000_000) }),
  /** Writes this text to stderr before the response. Only over stdio. */
  Schema.TaggedStruct("Log", { text: Schema.String }),
  /** Keeps the server running after its stdin ends and, with `signals`, also after SIGTERM. Only over stdio. */
  Schema.TaggedStruct("Linger", { signals: Schema.Boolean }),
  /** Responds with a different HTTP status and body. */
  Schema.TaggedStruct("Status", { status: between(200, 599), type: Schema.String, body: Schema.String }),
  /** Closes the connection before the response. If an event ID was sent, the stream can be resumed. Over stdio, the server exits. */
  Schema.TaggedStruct("Cut", { resumable: Schema.Boolean, retry: Schema.optionalKey(Schema.Int) }),
  /** Forgets the session. This request and all later requests in the session receive status 404. */
  Schema.TaggedStruct("Expire", {})
])
export type Act = typeof Act.Type

export const ServerFault = Schema.Struct({
  /** Method of the request, or `shutdown` for the moment stdin ends. */
  on: Schema.String,
  /** Index of the request with this method, starting at 0. Default: every request. */
  nth: Schema.optionalKey(Schema.Int),
  act: Act
})
export type ServerFault = typeof ServerFault.Type

export const ServerScript = Schema.Struct({
  revision: Schema.Literals(all.map(({ version }) => version)),
  /** Whether to send responses as event streams. Default: as JSON, unless a fault needs a stream. */
  streams: Schema.Boolean,
  /** Whether to hand out session ids in revisions that have sessions. */
  sessions: Schema.Boolean,
  /** Cursors of the pages in every list. Default: one page per list. */
  pages: Schema.Array(Schema.String),
  /** Tools to list in addition to `add_numbers`. */
  tools: Schema.Array(Schema.Json),
  faults: Schema.Array(ServerFault)
})
export type ServerScript = typeof ServerScript.Type

/** Returns the script of a correct server. */
export const right = (revision: ServerScript["revision"]): ServerScript => ({
  revision,
  streams: false,
  sessions: true,
  pages: [],
  tools: [],
  faults: []
})

/** True if a client may wait or retry forever because of this fault. */
export const isEndless = ({ act }: ServerFault): boolean =>
  ["Never", "Cut", "Id"].includes(act._tag) || (act._tag === "Status" && (act.status === 429 || act.status >= 500))

/** True for faults that must not keep the client from succeeding. Other faults may end its work, but must not crash it. */
export const isHarmless = ({ act }: ServerFault): boolean => {
  switch (act._tag) {
    case "Tell":
    case "Ask":
    case "Text":
    case "Pieces":
      return true
    case "Late":
      return act.milliseconds <= 100
    case "Twice":
      return true
    case "Huge":
      return act.characters <= 200_000
    case "Cut":
      return false
    case "Merge":
      return Object.keys(act.members).every((key) => key === "_meta" || key.startsWith("fuzz"))
    default:
      return false
  }
}
