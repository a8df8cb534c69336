/**
 * Facts from the upstream server's tool list that calls need: arguments that are also sent in headers (spec 2026-07-28:
 * basic/transports/streamable-http), and whether a call may be a task (2025-11-25).
 *
 * Reads the list when the first call needs it, and again after the list has changed.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import { type Original, projected, unchanged } from "@effect-mcp/core/internal/projecting"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import type { CallToolParams, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Support } from "../tasks/Tasks.ts"

type Client = McpClient["Service"]

interface Listed {
  /** Restores the argument names of the upstream server's schema. */
  readonly original: Original
  readonly headers: ReadonlyArray<HeaderParams.HeaderParam>
  readonly taskSupport: Support
}

export class ListedTools {
  private known: ReadonlyMap<string, Listed> | undefined = undefined
  private following = false
  private readonly client: Client
  private readonly scope: Scope.Scope
  private readonly projects: boolean

  /** `projects` means that clients see the tools in projected form. */
  constructor(client: Client, scope: Scope.Scope, projects: boolean) {
    this.client = client
    this.scope = scope
    this.projects = projects
  }

  /** Returns a tool's header arguments. Empty for a tool that is not listed, which the upstream server rejects. */
  headers(tool: string): Effect.Effect<ReadonlyArray<HeaderParams.HeaderParam>, ClientError> {
    return Effect.map(this.of(tool), (listed) => listed?.headers ?? [])
  }

  /** Returns whether a call to the tool may or must be a task. */
  taskSupport(tool: string): Effect.Effect<Support, ClientError> {
    return Effect.map(this.of(tool), (listed) => listed?.taskSupport ?? "forbidden")
  }

  /** Restores the upstream server's argument names in a call to a tool that was listed in projected form. */
  original(params: CallToolParams): Effect.Effect<CallToolParams, ClientError> {
    const { arguments: args, name } = params
    return this.projects && args !== undefined
      ? Effect.map(this.of(name), (listed) => ({ ...params, arguments: listed?.original(args) ?? args }))
      : Effect.succeed(params)
  }

  /**
   * Returns listed tools as clients see them. If the server does not announce changes, calls read the list again, because it may have
   * changed since their last read.
   */
  shown(tools: ReadonlyArray<Tool>): Effect.Effect<ReadonlyArray<Tool>> {
    if (!this.projects) return Effect.succeed(tools)
    if (!this.announcesChanges) this.known = undefined
    return Effect.map(projected(tools), (all) => all.map(({ tool }) => tool))
  }

  private get announcesChanges(): boolean {
    return this.client.serverCapabilities.tools?.listChanged === true
  }

  private of(tool: string): Effect.Effect<Listed | undefined, ClientError> {
    return Effect.suspend(() => {
      const { known } = this
      return known === undefined ? Effect.andThen(this.follow, this.read(tool)) : Effect.succeed(known.get(tool))
    })
  }

  private read(tool: string) {
    const all = Effect.flatMap(Stream.runCollect(this.client.listTools), (tools) =>
      this.projects ? projected(tools) : Effect.succeed(tools.map((tool) => ({ tool, original: unchanged })))
    )
    return Effect.map(all, (tools) => {
      const known = new Map(
        tools.map(({ original, tool: { execution, inputSchema, name } }): [string, Listed] => [
          name,
          {
            original,
            headers: HeaderParams.parse(inputSchema).params,
            taskSupport: execution?.taskSupport ?? "forbidden"
          }
        ])
      )
      this.known = known
      return known.get(tool)
    })
  }

  private readonly follow: Effect.Effect<void> = Effect.suspend(() => {
    if (this.following || !this.announcesChanges) return Effect.void
    this.following = true
    const forget = Stream.runForEach(this.client.toolChanges, () =>
      Effect.sync(() => {
        this.known = undefined
      })
    )
    return Effect.asVoid(Effect.forkIn(forget, this.scope, { startImmediately: true }))
  })
}
