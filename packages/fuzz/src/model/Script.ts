/**
 * A conversation as data: what a client does, step by step. It is generated, stored as JSON, played, replayed and shrunk.
 *
 * A step that refers to another one does so symbolically, such as `Cancel` to the newest open request: it stays meaningful when steps
 * before it are taken out. A step without a referent does nothing.
 */
import { all } from "@effect-mcp/protocol/Revision"
import * as Schema from "effect/Schema"

/** HTTP: how a message differs from what a right client sends. Other transports ignore it. */
export const Deviation = Schema.Struct({
  /** Headers that are added, replaced or, by null, left out. Names are lower-case. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.NullOr(Schema.String))),
  session: Schema.optionalKey(Schema.Literals(["none", "unknown"]))
})
export type Deviation = typeof Deviation.Type

/** Sends a request. A `params` that is absent is not sent. */
const RequestCommand = Schema.TaggedStruct("Request", {
  method: Schema.String,
  params: Schema.optionalKey(Schema.Json),
  /** Default: a fresh string. Any JSON value, right or wrong. */
  id: Schema.optionalKey(Schema.Json),
  /** 2026-07-28: leaves out the declaration in `_meta` that the player otherwise adds. Default false. */
  bare: Schema.optionalKey(Schema.Boolean),
  http: Schema.optionalKey(Deviation)
})
export type RequestCommand = typeof RequestCommand.Type

const Notify = Schema.TaggedStruct("Notify", {
  method: Schema.String,
  params: Schema.optionalKey(Schema.Json),
  http: Schema.optionalKey(Deviation)
})

/** How the client answers what the server asks. */
export const Answering = Schema.Literals(["accept", "decline", "error", "malformed", "never"])
export type Answering = typeof Answering.Type

const Step = Schema.Union([
  /** Stateful: `initialize`, and `notifications/initialized` unless `silent`. In 2026-07-28 it only says what is declared. */
  Schema.TaggedStruct("Open", {
    /** Default: the version of the script. */
    offer: Schema.optionalKey(Schema.String),
    /** What the client declares. Default: nothing. */
    declares: Schema.optionalKey(Schema.Array(Schema.Literals(["roots", "sampling", "elicitation"]))),
    /** Default `accept`. */
    answers: Schema.optionalKey(Answering),
    silent: Schema.optionalKey(Schema.Boolean),
    /** Stateful: the session that is open is continued, and only how the client answers is set. Default false. */
    continues: Schema.optionalKey(Schema.Boolean)
  }),
  RequestCommand,
  Notify,
  /** One line, unchanged. */
  Schema.TaggedStruct("Raw", { text: Schema.String }),
  /** Cancels a request: the newest or oldest that is open, or one that is answered; or every subscription (2026-07-28). */
  Schema.TaggedStruct("Cancel", { which: Schema.Literals(["newest", "oldest", "answered", "subscriptions"]) }),
  /** Asks for the page after the newest one of this list. */
  Schema.TaggedStruct("NextPage", { method: Schema.String }),
  /** 2025-03-26: several messages in one array. */
  Schema.TaggedStruct("Batch", { members: Schema.Array(Schema.Union([RequestCommand, Notify])) }),
  /** 2026-07-28: sends the newest request that was answered with questions again, with answers. */
  Schema.TaggedStruct("Resume", { how: Schema.Literals(["answer", "omit", "wrong", "tamper"]) }),
  /**
   * Asks about a task that the server gave: the newest, the oldest, or the newest that is known to have ended. An update answers the
   * questions that are known (2026-07-28).
   */
  Schema.TaggedStruct("Task", {
    method: Schema.Literals(["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"]),
    which: Schema.Literals(["newest", "oldest", "ended"])
  }),
  /** The same request many times, one on top of the other. */
  Schema.TaggedStruct("Flood", {
    count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 })),
    request: RequestCommand
  }),
  /** Waits until every open request is answered, or the patience is over. */
  Schema.TaggedStruct("Wait", {}),
  /** Is silent for two seconds, in which a server that ended between two conversations ends again. */
  Schema.TaggedStruct("Idle", {}),
  /** HTTP: a GET for what the server sends by itself. */
  Schema.TaggedStruct("Listen", { http: Schema.optionalKey(Deviation) }),
  /** HTTP: closes the connection of the newest stream that is open. In 2026-07-28 that cancels its request. */
  Schema.TaggedStruct("Cut", {}),
  /** HTTP: resumes the newest stream by a GET with `Last-Event-ID`; its connection is closed before that. */
  Schema.TaggedStruct("Reconnect", {}),
  /** HTTP: ends the session by a DELETE. */
  Schema.TaggedStruct("Delete", { http: Schema.optionalKey(Deviation) })
])

export const Command = Schema.Union([
  ...Step.members,
  /**
   * HTTP: another client of the same server, from its first message to its last one. Over stdio each has a server of its own. Its `Task`
   * is one of the first client's where it has none.
   */
  Schema.TaggedStruct("Beside", {
    commands: Schema.Array(Step),
    /** Whether it has the credentials of another principal; without such the command does nothing. Default false. */
    stranger: Schema.optionalKey(Schema.Boolean)
  })
])
export type Command = typeof Command.Type

/** A conversation in one revision. */
export const Script = Schema.Struct({
  revision: Schema.Literals(all.map(({ version }) => version)),
  commands: Schema.Array(Command)
})
export type Script = typeof Script.Type
