/** What differs between the two eras, once a revision is agreed on: how requests travel, and how the server's news is had. */
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
   * Has the server tell of updates of a resource for as long as the scope is open: from when this returns on. The effect inside
   * completes if the server ends that by itself. `updated` is called, in the reader, with the URIs of updates that name this
   * subscription; those that name none are announced as everything else is.
   */
  readonly subscribeResource: (
    uri: string,
    updated: (uri: string) => void
  ) => Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Has the server tell of changed lists for as long as the scope is open; the effect inside is as above. */
  readonly subscribeLists: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Has the server send log messages of at least this level. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** The smallest question that the server answers. */
  readonly ping: (options?: CallOptions) => Effect.Effect<void, ClientError>
}
