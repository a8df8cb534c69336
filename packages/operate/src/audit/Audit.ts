/**
 * An audit trail for servers. It records the actor, method, time and outcome of every request, question, notification and rejection. A hash
 * chain reveals if a line was changed, removed or inserted.
 */
import * as ClientObserver from "@effect-mcp/client/ClientObserver"
import { type Observers, service } from "@effect-mcp/server/Observer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as clientEntries from "./clientEntries.ts"
import * as entries from "./entries.ts"
import type { AuditEntry } from "./Record.ts"
import type { AuditSink, SinkError } from "./Sink.ts"
import * as Trail from "./Trail.ts"

export type { Actor, AuditEntry as Entry, AuditOutcome as Outcome, Record } from "./Record.ts"
export { type SinkEnding as Ending, layerArray, layerFile, layerStream, AuditSink as Sink, SinkError } from "./Sink.ts"
export type { Tail } from "./chain.ts"
export {
  type Options as VerifyOptions,
  type TrailProblem as Problem,
  type TrailReport as Report,
  verify
} from "./verify.ts"

export interface Options extends Trail.Options {
  /**
   * Whether to record call arguments, and the names of object members to redact. Arguments longer than 16 KiB are omitted. By default no
   * arguments are recorded.
   */
  readonly arguments?: entries.AuditedArguments | undefined
}

/** Adds the program's own entries, such as logins and consents. */
export class Audit extends Context.Service<
  Audit,
  {
    /** Records an entry. If the trail blocks, waits until there is room. Names of your own events must contain a dot. */
    readonly record: (entry: AuditEntry) => Effect.Effect<void>
  }
>()("@effect-mcp/operate/Audit") {}

/**
 * Records an audit trail for the servers that this layer is provided to. Fails if the sink can't be read, or doesn't end with a record.
 *
 * @example
 * ```ts
 * import { NodeFileSystem } from "@effect/platform-node"
 * import { Audit } from "@effect-mcp/operate"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * const audit = Audit.layer({ arguments: { redact: ["password", "token"] } }).pipe(
 *   Layer.provide(Audit.layerFile("/var/log/orders/audit.jsonl")),
 *   Layer.provide(NodeFileSystem.layer)
 * )
 *
 * export const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(audit)
 * )
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Audit | Observers, SinkError, AuditSink> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const trail = yield* Trail.make(options)
      const observer = entries.observer((entry) => trail.note(entry), trail.admit, options.arguments)
      // Other waiting callers may have taken the room.
      const record = (entry: AuditEntry): Effect.Effect<void> =>
        Effect.suspend(() => {
          const full = trail.admit()
          if (full !== undefined) return Effect.andThen(full, record(entry))
          trail.note(entry)
          return Effect.void
        })
      return Context.merge(Context.make(Audit, { record }), service(observer))
    })
  )

/**
 * Records an audit trail for the clients that this layer is provided to: every connection, and every request and question with its server,
 * method, target and outcome. It needs a separate sink. Clients don't wait for it; entries beyond `capacity` are dropped and counted.
 *
 * @example
 * ```ts
 * import { NodeFileSystem } from "@effect/platform-node"
 * import { McpClient } from "@effect-mcp/client"
 * import { Audit } from "@effect-mcp/operate"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const audit = Audit.layerClient().pipe(
 *   Layer.provide(Audit.layerFile("/var/log/agent/audit.jsonl")),
 *   Layer.provide(NodeFileSystem.layer)
 * )
 *
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([audit, FetchHttpClient.layer])
 * )
 * ```
 */
export const layerClient = (
  options: Omit<Options, "whenFull"> = {}
): Layer.Layer<ClientObserver.ClientObservers, SinkError, AuditSink> =>
  ClientObserver.layer(
    Effect.map(Trail.make({ ...options, whenFull: "drop" }), (trail) =>
      clientEntries.observer((entry) => trail.note(entry), options.arguments)
    )
  )
