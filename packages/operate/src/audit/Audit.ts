/**
 * An audit trail of servers: the actor, method, time and outcome of every request, question, notification and refusal. A chain of
 * hashes shows whether a line was changed, left out or put in.
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
   * Whether entries have the arguments of calls, without the values of members of these names. Beyond 16 KiB they are left out. Default:
   * no entry has arguments.
   */
  readonly arguments?: entries.AuditedArguments | undefined
}

/** Adds entries of one's own: logins, consents. */
export class Audit extends Context.Service<
  Audit,
  {
    /** Waits for room where the trail blocks. The name of an event of one's own has a dot in it. */
    readonly record: (entry: AuditEntry) => Effect.Effect<void>
  }
>()("@effect-mcp/operate/Audit") {}

/**
 * The audit trail of the servers that are given this layer. Fails where the sink cannot be read, or does not end in a record.
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
      // Others that have waited may have taken the room.
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
 * The audit trail of the clients that are given this layer: every request and question with its server, method, target and outcome, and
 * each connection. Its sink is its own. Clients do not wait for it: beyond `capacity` entries are dropped, and counted.
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
