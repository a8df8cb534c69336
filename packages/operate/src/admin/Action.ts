/** Operator actions on one node, as data, so that the node that receives an action can forward it to its target. */
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

/** Body of `POST {path}/interrupt`. */
export const Interrupt = Schema.Struct({
  key: Schema.String.check(Schema.isMaxLength(300)),
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
})

/** Maximum number of requests to interrupt at once. */
export const interruptedAtMost = 500

/** Body of `POST {path}/interrupt-all`. */
export const InterruptAll = Schema.Struct({
  keys: Schema.Array(Interrupt.fields.key).check(Schema.isMinLength(1), Schema.isMaxLength(interruptedAtMost)),
  reason: Interrupt.fields.reason
})

/** Body of `POST {path}/level`. */
export const LevelRequest = Schema.Struct({ session: Id, level: LoggingLevel })

/**
 * Body of `POST {path}/drain`: the node's name as in a `Snapshot`, if there are several nodes. Defaults to the node that receives the
 * request.
 */
export const DrainRequest = Schema.Struct({ node: Schema.optional(Schema.String.check(Schema.isMaxLength(300))) })

export const AdminAction = Schema.Union([
  Schema.TaggedStruct("Snapshot", {}),
  Schema.TaggedStruct("Interrupt", Interrupt.fields),
  Schema.TaggedStruct("Level", LevelRequest.fields),
  Schema.TaggedStruct("Messages", { session: Id }),
  Schema.TaggedStruct("History", { session: Schema.optional(Id) }),
  Schema.TaggedStruct("Recent", { since: Schema.Finite }),
  Schema.TaggedStruct("Drain", {})
])
export type AdminAction = typeof AdminAction.Type

/** An HTTP status and a JSON body. */
export interface ActionResponse {
  readonly status: number
  readonly body: object
}

/** Maximum number of a session's recent events to send. */
const longest = 1000

const ok = (body: object): ActionResponse => ({ status: 200, body })
const failed = (status: number, error: string): ActionResponse => ({ status, body: { error } })
const noSession = failed(404, "There is no open session with this id")
const noHistory = failed(404, "The server keeps no history. Provide Admin.layerHistory() to enable it")

export interface Parts {
  readonly history: History["Service"] | undefined
  readonly messages: Messages["Service"]
  /** How long requests may keep running after a drain begins. */
  readonly patience: Duration.Input
}

const found = (id: string): Effect.Effect<Session | undefined, never, McpServer> =>
  Effect.flatMap(McpServer, ({ sessions }) => Effect.map(sessions, (all) => all.find((one) => idOf(one) === id)))

const setLevel = (session: Session, level: LoggingLevel): Effect.Effect<ActionResponse> =>
  Effect.match(session.setLogLevel(level), {
    onSuccess: () => ok({ level }),
    onFailure: ({ message }) => failed(409, `Cannot set the log level of this session: ${message}`)
  })

const messagesOf = (session: Session, { messages }: Parts): Effect.Effect<ActionResponse> =>
  Effect.map(messages.of(session), (found) =>
    found === undefined ? failed(429, "Too many sessions are being recorded. Try again in a minute") : ok(found)
  )

const ofSession = (id: string, use: (session: Session) => Effect.Effect<ActionResponse>) =>
  Effect.flatMap(found(id), (session) => (session === undefined ? Effect.succeed(noSession) : use(session)))

/** Performs the action on this node. */
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
      if (history === undefined) return Effect.succeed(noHistory)
      return Effect.sync(() => ok({ ended: history.of(action.session).slice(-longest) }))
    }
    case "Recent": {
      const { history } = parts
      return history === undefined ? Effect.succeed(noHistory) : Effect.sync(() => ok(history.recent(action.since)))
    }
    default:
      return Effect.flatMap(McpServer, ({ drain }) =>
        Effect.map(drain.begin(parts.patience), (began) => ok({ draining: true, began }))
      )
  }
}
