/**
 * What a misbehaving server does to a client, as data: it is generated, stored as JSON, played, replayed and shrunk.
 *
 * The server is right but for its faults. A fault belongs to the n-th request of a method, so it stays meaningful when others are taken out.
 */
import { all } from "@effect-mcp/protocol/Revision"
import * as Schema from "effect/Schema"

/** A recording may come from anywhere: what no server can do is refused with the place where it stands. */
const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Act = Schema.Union([
  /** Sends a message before the response: a notification, a stray response, anything. */
  Schema.TaggedStruct("Tell", { message: Schema.Json }),
  /** Asks the client before the response, and waits a moment for its answer. */
  Schema.TaggedStruct("Ask", {
    method: Schema.String,
    params: Schema.optionalKey(Schema.Json),
    /** Default: a fresh string. */
    id: Schema.optionalKey(Schema.Json)
  }),
  /** Writes this before the response, as it is, into the stream of events or to stdout. */
  Schema.TaggedStruct("Text", { text: Schema.String }),
  /** Another result; null means one that is null. */
  Schema.TaggedStruct("Result", { result: Schema.Json }),
  /** Members that the result has in place of its own. */
  Schema.TaggedStruct("Merge", { members: Schema.Record(Schema.String, Schema.Json) }),
  Schema.TaggedStruct("Error", { error: Schema.Json }),
  /** A response with another id. */
  Schema.TaggedStruct("Id", { id: Schema.Json }),
  Schema.TaggedStruct("Twice", {}),
  Schema.TaggedStruct("Never", {}),
  Schema.TaggedStruct("Late", { milliseconds: between(0, 3_600_000) }),
  /** The response has a text of this many characters. */
  Schema.TaggedStruct("Huge", { characters: between(0, 100_000_000) }),
  /** Writes the response in so many pieces, with a pause behind each. */
  Schema.TaggedStruct("Pieces", { count: between(1, 1_000_000) }),
  /** Writes this to stderr before the response. Over stdio only. */
  Schema.TaggedStruct("Log", { text: Schema.String }),
  /** The server stays when its stdin ends; with `signals` also when SIGTERM comes. Over stdio only. */
  Schema.TaggedStruct("Linger", { signals: Schema.Boolean }),
  /** Another HTTP status and body. */
  Schema.TaggedStruct("Status", { status: between(200, 599), type: Schema.String, body: Schema.String }),
  /** Closes the connection before the response; behind an event id it can be resumed. Over stdio the server exits. */
  Schema.TaggedStruct("Cut", { resumable: Schema.Boolean, retry: Schema.optionalKey(Schema.Int) }),
  /** Forgets the session: this request and all later ones of the session get status 404. */
  Schema.TaggedStruct("Expire", {})
])
export type Act = typeof Act.Type

export const ServerFault = Schema.Struct({
  /** The method of the request; `shutdown` where stdin ends. */
  on: Schema.String,
  /** Which request of that method, from 0. Default: every one. */
  nth: Schema.optionalKey(Schema.Int),
  act: Act
})
export type ServerFault = typeof ServerFault.Type

export const ServerScript = Schema.Struct({
  revision: Schema.Literals(all.map(({ version }) => version)),
  /** Whether responses are streams of events. Default: they are JSON, unless a fault needs a stream. */
  streams: Schema.Boolean,
  /** Whether the server gives a session id, in the revisions that have them. */
  sessions: Schema.Boolean,
  /** The cursors of the pages of every list. Default: lists have one page. */
  pages: Schema.Array(Schema.String),
  /** Tools that are listed beside `add_numbers`. */
  tools: Schema.Array(Schema.Json),
  faults: Schema.Array(ServerFault)
})
export type ServerScript = typeof ServerScript.Type

/** A right server. */
export const right = (revision: ServerScript["revision"]): ServerScript => ({
  revision,
  streams: false,
  sessions: true,
  pages: [],
  tools: [],
  faults: []
})

/** Whether the client may have to wait, or tries again, as long as it likes. */
export const isEndless = ({ act }: ServerFault): boolean =>
  ["Never", "Cut", "Id"].includes(act._tag) || (act._tag === "Status" && (act.status === 429 || act.status >= 500))

/** Faults that a client must survive: it can still do all that it wanted. The others may end what it does, but not break it. */
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
