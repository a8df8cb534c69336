/** Finds a shorter conversation that still shows the same finding. Commands are removed first, and then arguments are simplified. */
import { type Options, shorter, shrinkBy } from "@effect-mcp/testing/internal/Shrinker"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Command, Script } from "../model/Script.ts"

/** Yields simpler JSON: removes members, then simplifies each. */
export function* simpler(json: Schema.Json): Iterable<Schema.Json> {
  if (typeof json === "string" && json.length > 1) yield ""
  if (typeof json === "string" && json.length > 8) yield json.slice(0, json.length / 2)
  if (typeof json === "number" && json !== 0) yield 0
  if (Array.isArray(json)) {
    for (const index of json.keys()) yield json.toSpliced(index, 1)
    for (const [index, value] of json.entries()) for (const next of simpler(value)) yield json.with(index, next)
  } else if (isJsonObject(json)) {
    const entries = Object.entries(json)
    for (const index of entries.keys()) yield Object.fromEntries(entries.toSpliced(index, 1))
    for (const [key, value] of entries)
      for (const next of simpler(value)) yield Object.fromEntries([...entries, [key, next]])
  }
}

/** Yields simpler commands. */
function* simplerCommand(command: Command): Iterable<Command> {
  switch (command._tag) {
    case "Open":
      if (Object.keys(command).length > 1) yield { _tag: "Open" }
      if (command.answers !== undefined) {
        const { answers: _, ...rest } = command
        yield rest
      }
      return
    case "Request":
    case "Notify": {
      const { params, ...rest } = command
      if (rest.http !== undefined) {
        const { http: _, ...right } = command
        yield right
      }
      if (params === undefined) return
      yield rest
      for (const next of simpler(params)) yield { ...rest, params: next }
      return
    }
    case "Beside":
      for (const commands of shorter(command.commands)) yield { ...command, commands }
      return
    case "Flood":
      for (const count of [1, Math.floor(command.count / 2), command.count - 1])
        if (count >= 1 && count < command.count) yield { ...command, count }
      return
    case "Batch":
      for (const index of command.members.keys()) yield { ...command, members: command.members.toSpliced(index, 1) }
      return
    default:
  }
}

/** Yields the most likely cause: the command alone, with the opening, and with all earlier commands. */
function* likely({ commands }: Script, cause: number): Iterable<ReadonlyArray<Command>> {
  const upTo = commands.slice(0, cause + 1)
  const [first, last] = [commands[0], commands[cause]]
  if (first !== undefined && last !== undefined && cause > 0) yield first._tag === "Open" ? [first, last] : [last]
  yield upTo
}

/** Yields shorter and simpler conversations with a server. */
export function* candidates(script: Script, cause?: number): Iterable<Script> {
  const { commands } = script
  if (cause !== undefined) for (const fewer of likely(script, cause)) yield { ...script, commands: fewer }
  for (const fewer of shorter(commands)) yield { ...script, commands: fewer }
  for (const [index, command] of commands.entries()) {
    for (const next of simplerCommand(command)) yield { ...script, commands: commands.with(index, next) }
  }
}

/** Returns the shortest conversation found that satisfies `shows`. */
export const shrink = <E, R>(
  script: Script,
  shows: (candidate: Script) => Effect.Effect<boolean, E, R>,
  options?: Options
): Effect.Effect<Script, E, R> => shrinkBy(candidates, script, shows, options)
