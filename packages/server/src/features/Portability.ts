/**
 * Projects tool schemas when the tools are registered, so that every host can use them.
 *
 * Most tools pass a quick check, and the rules are only loaded for the others.
 */
import type { ToolEntry, ToolSource } from "@effect-mcp/core/Tools"
import { isPending } from "@effect-mcp/core/internal/handlers"
import { projectedSource } from "@effect-mcp/core/internal/projecting"
import { lateImport } from "@effect-mcp/core/internal/calling"
import { isPlainlyPortable } from "@effect-mcp/protocol/internal/toolSchema"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import type * as Rules from "@effect-mcp/protocol/Portability"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** How to treat tools that some host cannot use; see the server's option `portability`. */
export type Mode = "project" | "strict" | "off"

/** A tool, and why some host cannot use it. */
export interface Unportable {
  readonly tool: string
  /** For each obstacle, its location in the tool, the hosts, and how to fix it. */
  readonly obstacles: ReadonlyArray<string>
}

/** The server has tools that some host cannot use, and its `portability` option is "strict". */
export class NotPortable extends Data.TaggedError("NotPortable")<{ readonly tools: ReadonlyArray<Unportable> }> {
  override get message(): string {
    return this.tools.map(warning).join("\n")
  }
}

const warning = ({ obstacles, tool }: Unportable): string =>
  `Some hosts cannot use the tool ${JSON.stringify(tool)}:${obstacles.map((line) => `\n  - ${line}`).join("")}`

/** Maximum number of obstacles to list in a warning. */
const maxLines = 10

/** The rules, or `undefined` until a tool needs them. Loaded at most once per process. */
let rules: typeof Rules | undefined

const load = Effect.suspend(() =>
  rules === undefined
    ? Effect.map(Effect.promise(lateImport(() => import("@effect-mcp/protocol/Portability"))), (loaded) => {
        rules = loaded
        return loaded
      })
    : Effect.succeed(rules)
)

const unlessPending = (tool: Tool, key: "inputSchema" | "outputSchema"): JsonObject | undefined =>
  isPending(tool, key) ? undefined : tool[key]

/** True if the tool certainly breaks no rule. Does not generate schemas. */
const isPlain = (tool: Tool): boolean =>
  isPlainlyPortable({
    name: tool.name,
    description: tool.description,
    inputSchema: unlessPending(tool, "inputSchema"),
    outputSchema: unlessPending(tool, "outputSchema")
  })

export class Portability {
  private readonly mode: Mode
  private readonly refused: Array<Unportable> = []
  private waiting: Array<ToolEntry> = []
  private isBuilt = false

  constructor(mode: Mode = "project") {
    this.mode = mode
  }

  /** True if every registered tool has its final schemas. */
  get isSettled(): boolean {
    return this.waiting.length === 0
  }

  /**
   * Prepares a tool's entry before it is registered. Changes the entry in place: immediately if the rules are loaded,
   * or else in `settle`, so that tools keep their order. Returns `undefined` if there is nothing to do.
   */
  admit(entry: ToolEntry): Effect.Effect<void> | undefined {
    if (this.mode === "off" || isPlain(entry.tool)) return undefined
    if (rules !== undefined) return this.project(entry, rules)
    this.waiting.push(entry)
    return undefined
  }

  /** Projects the tools of a mounted source. Its lists change, so `strict` can't refuse any of them. */
  source(source: ToolSource): ToolSource {
    return this.mode === "off" ? source : projectedSource(source)
  }

  /** Projects the tools that are waiting for the rules. */
  readonly settle: Effect.Effect<void> = Effect.suspend(() =>
    this.isSettled
      ? Effect.void
      : Effect.flatMap(load, (loaded) => {
          const { waiting } = this
          this.waiting = []
          return Effect.forEach(waiting, (entry) => this.project(entry, loaded), { discard: true })
        })
  )

  /** Completes the build. Fails if a tool was rejected. Afterwards, registering such a tool is a defect. */
  readonly built: Effect.Effect<void, NotPortable> = Effect.suspend(() => {
    const settled = this.mode === "strict" ? Effect.andThen(load, this.settle) : this.settle
    return Effect.flatMap(settled, () => {
      this.isBuilt = true
      return this.refused.length === 0 ? Effect.void : Effect.fail(new NotPortable({ tools: this.refused }))
    })
  })

  private project(entry: ToolEntry, { describe, isBlocking, portable }: typeof Rules): Effect.Effect<void> {
    const { left, original, tool } = portable(entry.tool)
    if (tool !== entry.tool) Object.assign(entry, { tool, call: renamed(entry.call, original) })
    const lines = left.filter((obstacle) => isBlocking(obstacle)).map((obstacle) => describe(obstacle))
    return this.report({ tool: tool.name, obstacles: lines.slice(0, maxLines) })
  }

  private report(found: Unportable): Effect.Effect<void> {
    if (found.obstacles.length === 0) return Effect.void
    if (this.mode === "project") return Effect.logWarning(warning(found))
    if (this.isBuilt) return Effect.die(new NotPortable({ tools: [found] }))
    return Effect.sync(() => void this.refused.push(found))
  }
}

/** Restores the original names of arguments before the call. */
const renamed =
  (call: ToolEntry["call"], original: (args: JsonObject) => JsonObject): ToolEntry["call"] =>
  (params, request) => {
    const { arguments: given } = params
    const args = given && original(given)
    return call(args === given || args === undefined ? params : { ...params, arguments: args }, request)
  }
