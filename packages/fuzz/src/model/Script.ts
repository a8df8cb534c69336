/**
 * A conversation as data: the client's actions, step by step. It can be generated, stored as JSON, played, replayed and shrunk.
 *
 * Steps refer to each other symbolically. `Cancel`, for example, refers to the newest open request, so it still makes sense when earlier
 * steps are removed. A step whose target doesn't exist does nothing.
 */
import { all } from "@effect-mcp/protocol/Revision"
import * as Schema from "effect/Schema"

/** HTTP only: ways in which a request differs from a correct client's request. Other transports ignore this. */
export const Deviation = Schema.Struct({
  /** Headers to add or replace, or to remove if the value is null. Names are lower-case. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.NullOr(Schema.String))),
  session: Schema.optionalKey(Schema.Literals(["none", "unknown"]))
})
export type Deviation = typeof Deviation.Type

/** Sends a request, with `params` if present. */
const RequestCommand = Schema.TaggedStruct("Request", {
  method: Schema.String,
  params: Schema.optionalKey(Schema.Json),
  /** Request ID, which may be any JSON value, valid or not. Default: a new string. */
  id: Schema.optionalKey(Schema.Json),
  /** 2026-07-28: whether to omit the declaration the player normally adds to `_meta`. Default false. */
  bare: Schema.optionalKey(Schema.Boolean),
  http: Schema.optionalKey(Deviation)
})
export type RequestCommand = typeof RequestCommand.Type

const Notify = Schema.TaggedStruct("Notify", {
  method: Schema.String,
  params: Schema.optionalKey(Schema.Json),
  http: Schema.optionalKey(Deviation)
})

/** How the client answers the server's questions. */
export const Answering = Schema.Literals(["accept", "decline", "error", "malformed", "never"])
export type Answering = typeof Answering.Type

const Step = Schema.Union([
  /** Stateful: `initialize`, and `notifications/initialized` unless `silent`. In 2026-07-28 it only sets the client's declaration. */
  Schema.TaggedStruct("Open", {
    /** Version to offer. Default: the script's version. */
    offer: Schema.optionalKey(Schema.String),
    /** Capabilities to declare. Default: none. */
    declares: Schema.optionalKey(Schema.Array(Schema.Literals(["roots", "sampling", "elicitation"]))),
    /** How to answer questions. Default `accept`. */
    answers: Schema.optionalKey(Answering),
    silent: Schema.optionalKey(Schema.Boolean),
    /** Stateful revisions: whether to continue the open session and only change how the client answers. Default false. */
    continues: Schema.optionalKey(Schema.Boolean)
  }),
  RequestCommand,
  Notify,
  /** Sends a line unchanged. */
  Schema.TaggedStruct("Raw", { text: Schema.String }),
  /**
   * Cancels a request: the newest or oldest one that is still open, or one that has already been answered. Can also cancel all
   * subscriptions (2026-07-28).
   */
  Schema.TaggedStruct("Cancel", { which: Schema.Literals(["newest", "oldest", "answered", "subscriptions"]) }),
  /** Requests the page after the most recent page of this list. */
  Schema.TaggedStruct("NextPage", { method: Schema.String }),
  /** 2025-03-26: sends several messages in one array. */
  Schema.TaggedStruct("Batch", { members: Schema.Array(Schema.Union([RequestCommand, Notify])) }),
  /** 2026-07-28: resends the newest request whose result asked questions, along with answers. */
  Schema.TaggedStruct("Resume", { how: Schema.Literals(["answer", "omit", "wrong", "tamper"]) }),
  /**
   * Sends a request about a task the server created: the newest one, the oldest one, or the newest one known to have ended. An update
   * answers the task's known questions (2026-07-28).
   */
  Schema.TaggedStruct("Task", {
    method: Schema.Literals(["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"]),
    which: Schema.Literals(["newest", "oldest", "ended"])
  }),
  /** Sends the same request many times without waiting. */
  Schema.TaggedStruct("Flood", {
    count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 })),
    request: RequestCommand
  }),
  /** Waits until every open request has been answered or `patience` runs out. */
  Schema.TaggedStruct("Wait", {}),
  /** Stays silent for two seconds, long enough for a server that exited between two conversations to exit again. */
  Schema.TaggedStruct("Idle", {}),
  /** HTTP: sends a GET request to receive messages the server sends on its own initiative. */
  Schema.TaggedStruct("Listen", { http: Schema.optionalKey(Deviation) }),
  /** HTTP: closes the connection of the newest open stream. In 2026-07-28, this cancels the stream's request. */
  Schema.TaggedStruct("Cut", {}),
  /** HTTP: closes the newest stream's connection and resumes it with a GET request that has `Last-Event-ID`. */
  Schema.TaggedStruct("Reconnect", {}),
  /** HTTP: ends the session with a DELETE request. */
  Schema.TaggedStruct("Delete", { http: Schema.optionalKey(Deviation) })
])

export const Command = Schema.Union([
  ...Step.members,
  /**
   * HTTP: runs a second client of the same server, from its first message to its last. Over stdio, every client has a separate server. If
   * the second client has no task, its `Task` commands refer to one created by the first client.
   */
  Schema.TaggedStruct("Beside", {
    commands: Schema.Array(Step),
    /** Whether to use the credentials of another user. Does nothing if there are none. Default false. */
    stranger: Schema.optionalKey(Schema.Boolean)
  })
])
export type Command = typeof Command.Type

/** A conversation in a single revision. */
export const Script = Schema.Struct({
  revision: Schema.Literals(all.map(({ version }) => version)),
  commands: Schema.Array(Command)
})
export type Script = typeof Script.Type
