/**
 * Limits how long a tool may run and how large its result may be. A call beyond a limit returns a result with `isError`
 * that names the tool and the limit, so that the model knows why it has no answer. A result that is too large is kept
 * for a while if the server is allowed to keep results (`Spill`).
 */
import { DeadlineQueue, type Fork } from "@effect-mcp/core/internal/inFlight"
import { exitOf } from "@effect-mcp/core/internal/calling"
import { deferred } from "@effect-mcp/core/internal/handlers"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { CallLimits, ToolEntry } from "@effect-mcp/core/Tools"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { byteLengthOf } from "../internal/bytesOf.ts"
import { partOf, type Spill, structureOf, wholeOf } from "./Spill.ts"
import type { Spilled } from "./SpillStore.ts"

/** Long enough for a handler that asks its user several times. */
const defaultTime = "1 hour"
/** With the usual escapes, this fits the 4 MiB that clients of this library read by default. */
const defaultBytes = 3 * 1024 * 1024

const notice = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true })

const isEmbedded = ({ type }: ContentBlock): boolean => type === "resource"

const textOf = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return block.data
    case "resource":
      return "text" in block.resource ? block.resource.text : block.resource.blob
    case "resource_link":
      return block.description ?? ""
    default:
      return ""
  }
}

/**
 * Returns the size of a result in bytes if it is more than `limit`, or else `undefined`. `mirrored` means that the
 * result's text repeats its structured content.
 */
const excess = (
  { content, structuredContent }: CallToolResult,
  mirrored: boolean,
  limit: number
): number | undefined => {
  let length = 0
  for (const block of content) length += textOf(block).length
  const structure = structuredContent === undefined || mirrored ? "" : JSON.stringify(structuredContent)
  const times = mirrored ? 2 : 1
  // A character takes at most three bytes, so most results need not be encoded to be measured.
  if ((length + structure.length) * 3 * times <= limit) return undefined
  let bytes = byteLengthOf(structure)
  for (const block of content) bytes += byteLengthOf(textOf(block)) * times
  return bytes > limit ? bytes : undefined
}

/** A call that is still running. */
interface Waiting {
  readonly stop: () => void
}

/** Stops a call at its deadline. */
const watched =
  (deadlines: DeadlineQueue<Waiting>) =>
  (stop: () => void): (() => void) => {
    const call = { stop }
    deadlines.add(call)
    return () => deadlines.remove(call)
  }

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1]
] as const

/** Same format as `Duration.format`, which would add a third of a KiB to a small program. */
const readable = (millis: number): string =>
  units
    .flatMap(([unit, size], at) => {
      const count = Math.floor((at === 0 ? millis : millis % (units[at - 1]?.[1] ?? 1)) / size)
      return count === 0 ? [] : [`${count}${unit}`]
    })
    .join(" ") || `${millis}ms`

/** The part of a result to keep elsewhere, and a function that inserts its replacement. */
interface Excess {
  readonly spilled: () => Spilled
  readonly without: (replacement: ReadonlyArray<ContentBlock>) => CallToolResult
}

/**
 * Chooses what to keep elsewhere: the largest block, if the rest is small enough, or else the whole result as JSON. A
 * tool with an output schema must return structured content unless it fails, so a result without it has `isError`.
 */
const excessOf = (result: CallToolResult, hasSchema: boolean, mirrored: boolean, limit: number): Excess => {
  const { content, structuredContent } = result
  if (!(mirrored && structuredContent !== undefined)) {
    const sizes = content.map((block) => byteLengthOf(textOf(block)))
    // Spreading this many arguments could overflow the stack.
    const largest = sizes.indexOf(sizes.reduce((most, size) => Math.max(most, size), 0))
    const block = content[largest]
    const rest = content.filter((_, index) => index !== largest)
    if (block !== undefined && excess({ ...result, content: rest }, false, limit) === undefined) {
      return {
        spilled: () => partOf(block),
        without: (replacement) => ({ ...result, content: content.toSpliced(largest, 1, ...replacement) })
      }
    }
  }
  const { structuredContent: _spilled, ...rest } = result
  return {
    spilled: () => (mirrored && structuredContent !== undefined ? structureOf(result) : wholeOf(result)),
    without: (replacement) => ({ ...rest, content: replacement, ...(hasSchema ? { isError: true } : undefined) })
  }
}

/** The parts of the server that the limits depend on. */
export interface Environment {
  /** True if the server declares resources. */
  readonly hasResources: () => boolean
  /** Returns the place for results that are too large, or `undefined` if they must not be kept. */
  readonly spill: () => Spill | undefined
}

const alone: Environment = { hasResources: () => true, spill: () => undefined }

/** Binds a tool to its limits: `late` is the result at the deadline, and `checked` replaces a result that is too large. */
const bounds = (
  { hasOwnContent, limits, tool }: ToolEntry,
  server: CallLimits,
  { hasResources, spill }: Environment
) => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(limits?.time ?? server.time ?? defaultTime))
  const bytes = limits?.bytes ?? server.bytes ?? defaultBytes
  const hasSchema = "outputSchema" in tool
  const mirrored = hasSchema && hasOwnContent !== true
  const late = () =>
    notice(
      `The tool ${JSON.stringify(tool.name)} was stopped because it exceeded its time limit of ${readable(millis)}.`
    )
  const left = (given: number) =>
    `The result of the tool ${JSON.stringify(tool.name)} was omitted because it is too large: ${given} bytes, limit ${bytes}. Ask for less data.`
  let warned = false
  /** Logs once if the tool embeds resources although its server declares none (spec: server/tools, embedded resources). */
  const checked = (result: CallToolResult): Effect.Effect<CallToolResult, never, RequestServices> => {
    if (warned || !result.content.some(isEmbedded) || hasResources()) return fitting(result)
    warned = true
    const message = `The tool ${tool.name} embeds resources, but its server has no resources. Add them with Resources, or set dynamic`
    return Effect.andThen(Effect.logWarning(message), fitting(result))
  }
  const fitting = (result: CallToolResult): Effect.Effect<CallToolResult, never, RequestServices> => {
    const given = excess(result, mirrored, bytes)
    if (given === undefined) return Effect.succeed(result)
    const kept = spill()
    if (kept === undefined) return Effect.succeed(notice(left(given)))
    const { spilled, without } = excessOf(result, hasSchema, mirrored, bytes)
    return Effect.map(kept.keep(tool.name, bytes, spilled), (replacement) =>
      replacement === undefined ? notice(left(given)) : without(replacement)
    )
  }
  return { millis, late, checked }
}

/**
 * Creates the function that applies an entry's own limits, or else the server's (`server`). A call that ends
 * immediately needs no timer. One fiber in the scope watches the deadlines of all waiting calls to a tool.
 */
export const make = (
  server: CallLimits = {},
  around: Environment = alone
): Effect.Effect<(entry: ToolEntry) => ToolEntry, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const scope = yield* Scope.Scope
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const fork: Fork = (effect) => Fiber.runIn(run(effect), scope)
    return (entry) => {
      const { checked, late, millis } = bounds(entry, server, around)
      const deadlines =
        millis === Infinity ? undefined : new DeadlineQueue(millis, clock, fork, (call: Waiting) => call.stop())
      return {
        ...entry,
        call: (params, request = deferred) => {
          const effect = entry.call(params, request)
          const done = exitOf(effect)
          if (done === undefined) {
            const limited = Effect.flatMap(effect, checked)
            return deadlines === undefined ? limited : request.stoppable(limited, late, watched(deadlines))
          }
          return Exit.isFailure(done) ? done : checked(done.value)
        }
      }
    }
  })
