/**
 * How long a tool may run and how large its result may be. A call beyond a limit gets a result with `isError` that names the tool and
 * the limit: the model learns why it has no answer.
 */
import { DeadlineQueue, type Fork } from "@effect-mcp/core/internal/Deadlines"
import { exitOf } from "@effect-mcp/core/internal/eager"
import { deferred } from "@effect-mcp/core/internal/HandlerContext"
import type { CallLimits, ToolEntry } from "@effect-mcp/core/Tools"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { bytesOf } from "../internal/bytesOf.ts"

/** Long enough for a handler that asks its user several times. */
const defaultTime = "1 hour"
/** With the usual escapes it fits the 4 MiB that clients of this library read by default. */
const defaultBytes = 3 * 1024 * 1024

const notice = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true })

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

/** The bytes of a result that has more than `limit`, else undefined. `mirrored`: its text repeats its structured content. */
const excess = (
  { content, structuredContent }: CallToolResult,
  mirrored: boolean,
  limit: number
): number | undefined => {
  let length = 0
  for (const block of content) length += textOf(block).length
  const structure = structuredContent === undefined || mirrored ? "" : JSON.stringify(structuredContent)
  const times = mirrored ? 2 : 1
  // A character has at most three bytes: most results need not be counted.
  if ((length + structure.length) * 3 * times <= limit) return undefined
  let bytes = bytesOf(structure).length
  for (const block of content) bytes += bytesOf(textOf(block)).length * times
  return bytes > limit ? bytes : undefined
}

/** A call that has not ended. */
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

/** As `Duration.format` writes it, which with its parts is a third of a KiB of a small program. */
const readable = (millis: number): string =>
  units
    .flatMap(([unit, size], at) => {
      const count = Math.floor((at === 0 ? millis : millis % (units[at - 1]?.[1] ?? 1)) / size)
      return count === 0 ? [] : [`${count}${unit}`]
    })
    .join(" ") || `${millis}ms`

/** The limits of a tool: `late` is the result at the deadline, `checked` replaces a result that is too large. */
const bounds = ({ limits, tool }: ToolEntry, server: CallLimits) => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(limits?.time ?? server.time ?? defaultTime))
  const bytes = limits?.bytes ?? server.bytes ?? defaultBytes
  const mirrored = "outputSchema" in tool
  const late = () =>
    notice(
      `The tool ${JSON.stringify(tool.name)} was stopped: it took longer than ${readable(millis)}, the time limit of this tool.`
    )
  const left = (given: number) =>
    `The result of the tool ${JSON.stringify(tool.name)} is left out: it has ${given} bytes, and the size limit of this tool is ${bytes}. Ask for less.`
  const checked = (result: CallToolResult): CallToolResult => {
    const given = excess(result, mirrored, bytes)
    return given === undefined ? result : notice(left(given))
  }
  return { millis, late, checked }
}

/**
 * Applies the entry's own limits, else those of the server (`server`). A call that ends at once costs no timer; one fiber per tool, in
 * the scope, watches the deadlines of calls that wait.
 */
export const make = (server: CallLimits = {}): Effect.Effect<(entry: ToolEntry) => ToolEntry, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const scope = yield* Scope.Scope
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const fork: Fork = (effect) => Fiber.runIn(run(effect), scope)
    return (entry) => {
      const { checked, late, millis } = bounds(entry, server)
      const deadlines =
        millis === Infinity ? undefined : new DeadlineQueue(millis, clock, fork, (call: Waiting) => call.stop())
      return {
        ...entry,
        call: (params, request = deferred) => {
          const effect = entry.call(params, request)
          const done = exitOf(effect)
          if (done === undefined) {
            const limited = Effect.map(effect, checked)
            return deadlines === undefined ? limited : request.stoppable(limited, late, watched(deadlines))
          }
          if (Exit.isFailure(done)) return done
          const result = checked(done.value)
          return result === done.value ? done : Exit.succeed(result)
        }
      }
    }
  })
