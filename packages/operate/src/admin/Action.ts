/** What an operator asks of one node, as data: a node that is asked passes it on to the node that it is for. */
import { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { Session } from "@effect-mcp/server/McpServer"
import { McpServer } from "@effect-mcp/server/McpServer"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { History } from "./History.ts"
import type { Messages } from "./Messages.ts"
import { idOf, take } from "./Snapshot.ts"

const Id = Schema.String.check(Schema.isMaxLength(512))

/** What `POST {path}/interrupt` is sent. */
export const Interrupt = Schema.Struct({
  key: Schema.String.check(Schema.isMaxLength(300)),
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
})

/** What `POST {path}/level` is sent. */
export const LevelRequest = Schema.Struct({ session: Id, level: LoggingLevel })

/** What `POST {path}/drain` is sent: the node as a `Snapshot` names it, where there are several. Default: the node that is asked. */
export const DrainRequest = Schema.Struct({ node: Schema.optional(Schema.String.check(Schema.isMaxLength(300))) })

export const AdminAction = Schema.Union([
  Schema.TaggedStruct("Snapshot", {}),
  Schema.TaggedStruct("Interrupt", Interrupt.fields),
  Schema.TaggedStruct("Level", LevelRequest.fields),
  Schema.TaggedStruct("Messages", { session: Id }),
  Schema.TaggedStruct("History", { session: Schema.optional(Id) }),
  Schema.TaggedStruct("Drain", {})
])
export type AdminAction = typeof AdminAction.Type

/** A status of HTTP, and JSON. */
export interface ActionResponse {
  readonly status: number
  readonly body: object
}

/** How many of the last events of a session are sent. */
const longest = 1000

const ok = (body: object): ActionResponse => ({ status: 200, body })
const failed = (status: number, error: string): ActionResponse => ({ status, body: { error } })
const noSession = failed(404, "No session of that id is open")

export interface Parts {
  readonly history: History["Service"] | undefined
  readonly messages: Messages["Service"]
  /** How long requests may still run once a drain has begun. */
  readonly patience: Duration.Input
}

const found = (id: string): Effect.Effect<Session | undefined, never, McpServer> =>
  Effect.flatMap(McpServer, ({ sessions }) => Effect.map(sessions, (all) => all.find((one) => idOf(one) === id)))

const setLevel = (session: Session, level: LoggingLevel): Effect.Effect<ActionResponse> =>
  Effect.match(session.setLogLevel(level), {
    onSuccess: () => ok({ level }),
    onFailure: ({ message }) => failed(409, `This session has no log level: ${message}`)
  })

const messagesOf = (session: Session, { messages }: Parts): Effect.Effect<ActionResponse> =>
  Effect.map(messages.of(session), (found) =>
    found === undefined ? failed(429, "Operators look at too many sessions: wait a minute") : ok(found)
  )

const ofSession = (id: string, use: (session: Session) => Effect.Effect<ActionResponse>) =>
  Effect.flatMap(found(id), (session) => (session === undefined ? Effect.succeed(noSession) : use(session)))

/** Does it at this node. */
export const perform = (action: AdminAction, parts: Parts): Effect.Effect<ActionResponse, never, McpServer> => {
  switch (action._tag) {
    case "Snapshot":
      return Effect.map(take, ok)
    case "Interrupt":
      return Effect.flatMap(McpServer, ({ requests }) =>
        Effect.map(requests.interrupt(action.key, action.reason), (interrupted) => ok({ interrupted }))
      )
    case "Level":
      return ofSession(action.session, (session) => setLevel(session, action.level))
    case "Messages":
      return ofSession(action.session, (session) => messagesOf(session, parts))
    case "History": {
      const { history } = parts
      if (history === undefined) {
        return Effect.succeed(failed(404, "The server keeps no history: give it Admin.layerHistory()"))
      }
      return Effect.sync(() => ok({ ended: history.of(action.session).slice(-longest) }))
    }
    default:
      return Effect.flatMap(McpServer, ({ drain }) =>
        Effect.map(drain.begin(parts.patience), (began) => ok({ draining: true, began }))
      )
  }
}
