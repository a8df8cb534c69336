/**
 * Facts from the upstream server's tool list that calls need: arguments that are also sent in headers (spec 2026-07-28:
 * basic/transports/streamable-http), and whether a call may be a task (2025-11-25).
 *
 * Reads the list when the first call needs it, and again after the list has changed.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Support } from "../tasks/Tasks.ts"

type Client = McpClient["Service"]

interface Listed {
  readonly headers: ReadonlyArray<HeaderParams.HeaderParam>
  readonly taskSupport: Support
}

export class ListedTools {
  private known: ReadonlyMap<string, Listed> | undefined = undefined
  private following = false
  private readonly client: Client
  private readonly scope: Scope.Scope

  constructor(client: Client, scope: Scope.Scope) {
    this.client = client
    this.scope = scope
  }

  /** Returns a tool's header arguments. Empty for a tool that is not listed, which the upstream server rejects. */
  headers(tool: string): Effect.Effect<ReadonlyArray<HeaderParams.HeaderParam>, ClientError> {
    return Effect.map(this.of(tool), (listed) => listed?.headers ?? [])
  }

  /** Returns whether a call to the tool may or must be a task. */
  taskSupport(tool: string): Effect.Effect<Support, ClientError> {
    return Effect.map(this.of(tool), (listed) => listed?.taskSupport ?? "forbidden")
  }

  private of(tool: string): Effect.Effect<Listed | undefined, ClientError> {
    return Effect.suspend(() => {
      const { known } = this
      return known === undefined ? Effect.andThen(this.follow, this.read(tool)) : Effect.succeed(known.get(tool))
    })
  }

  private read(tool: string) {
    return Effect.map(Stream.runCollect(this.client.listTools), (tools) => {
      const known = new Map(
        tools.map(({ execution, inputSchema, name }): [string, Listed] => [
          name,
          { headers: HeaderParams.parse(inputSchema).params, taskSupport: execution?.taskSupport ?? "forbidden" }
        ])
      )
      this.known = known
      return known.get(tool)
    })
  }

  private readonly follow: Effect.Effect<void> = Effect.suspend(() => {
    if (this.following || this.client.serverCapabilities.tools?.listChanged !== true) return Effect.void
    this.following = true
    const forget = Stream.runForEach(this.client.toolChanges, () =>
      Effect.sync(() => {
        this.known = undefined
      })
    )
    return Effect.asVoid(Effect.forkIn(forget, this.scope, { startImmediately: true }))
  })
}
