/** The requests that differ between the two eras, after a revision is negotiated. */
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientError, Closed } from "../ClientError.ts"
import type { CallOptions, Requests } from "../CallOptions.ts"

export interface Era {
  readonly request: <M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<Requests[M]["result"], ClientError>
  /**
   * Subscribes to updates of a resource for as long as the scope, from when this returns. The inner effect completes if the server ends
   * the subscription. `updated` is called in the reader with the URI of each update that names this subscription; an update that names
   * none is announced like every other notification.
   */
  readonly subscribeResource: (
    uri: string,
    updated: (uri: string) => void
  ) => Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Subscribes to changes of lists for as long as the scope; the inner effect is as above. */
  readonly subscribeLists: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Asks the server for log messages of at least this level. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** The smallest request that the server answers. */
  readonly ping: (options?: CallOptions) => Effect.Effect<void, ClientError>
}
