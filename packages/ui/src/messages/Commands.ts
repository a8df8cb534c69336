/** Commands that the page sends to the process, each as the body of a POST. The answer is JSON. */
import { ElicitValue } from "@effect-mcp/protocol/model/Elicitation"
import { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Schema from "effect/Schema"

const Arguments = Schema.Record(Schema.String, Schema.Unknown)

/** Opens a new connection, in this revision or in the newest one that the server supports. */
const Connect = Schema.TaggedStruct("Connect", { revision: Schema.NullOr(Schema.String) })
/** Closes the connection. */
const Disconnect = Schema.TaggedStruct("Disconnect", {})
/** Lists everything again. */
const Refresh = Schema.TaggedStruct("Refresh", {})
/** Calls a tool. `task` asks for a task if the server leaves the choice to the client. */
const Call = Schema.TaggedStruct("Call", { tool: Schema.String, arguments: Arguments, task: Schema.Boolean })
/** Reads a resource. */
const Read = Schema.TaggedStruct("Read", { uri: Schema.String })
/** Gets a prompt. */
const Get = Schema.TaggedStruct("Get", {
  prompt: Schema.String,
  arguments: Schema.Record(Schema.String, Schema.String)
})
/** Pings the server. */
const Ping = Schema.TaggedStruct("Ping", {})
/** Lists the user's tasks on the server. The answer has `tasks`. */
const Tasks = Schema.TaggedStruct("Tasks", {})
/** Follows a task that exists on the server. */
const Follow = Schema.TaggedStruct("Follow", { task: Schema.String })
/** Cancels a run, and its task if it has one. */
const Cancel = Schema.TaggedStruct("Cancel", { run: Schema.Int })
/** Asks for suggestions. The answer has `values`. */
const Complete = Schema.TaggedStruct("Complete", {
  ref: Schema.Union([
    Schema.Struct({ type: Schema.Literal("ref/prompt"), name: Schema.String }),
    Schema.Struct({ type: Schema.Literal("ref/resource"), uri: Schema.String })
  ]),
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  others: Schema.Record(Schema.String, Schema.String)
})
/** Watches a resource, or stops watching it. */
const Watch = Schema.TaggedStruct("Watch", { uri: Schema.String, on: Schema.Boolean })
/** Answers a question from the server. `text` is the model's answer. */
const Answer = Schema.TaggedStruct("Answer", {
  question: Schema.Int,
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.Record(Schema.String, ElicitValue)),
  text: Schema.optionalKey(Schema.String)
})
/** Asks for logs of this level and above. */
const LogLevel = Schema.TaggedStruct("LogLevel", { level: LoggingLevel })
/** Replaces the roots and the model's scripted replies. Without replies, sampling is answered by hand. */
const Settings = Schema.TaggedStruct("Settings", {
  roots: Schema.Array(Schema.Struct({ uri: Schema.String, name: Schema.optionalKey(Schema.String) })),
  replies: Schema.Array(Schema.String)
})
/** Serves a tool's view with the arguments and the result of a run. The answer has the `url` to show in a frame. */
const View = Schema.TaggedStruct("View", { run: Schema.Number })
/** Forgets the runs that have ended, also on disk. */
const Forget = Schema.TaggedStruct("Forget", {})

/** A command of the page. */
export const PageCommand = Schema.Union([
  Connect,
  Disconnect,
  Refresh,
  Call,
  Read,
  Get,
  Ping,
  Tasks,
  Follow,
  Cancel,
  Complete,
  Watch,
  Answer,
  LogLevel,
  Settings,
  View,
  Forget
])
export type PageCommand = typeof PageCommand.Type
