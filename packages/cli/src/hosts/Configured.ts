/** Reads the server for a command from a host's configuration (`--config FILE --server NAME`). */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { usage } from "../terminal/Exit.ts"
import * as Target from "../target/Target.ts"
import * as ConfigurationText from "./ConfigurationText.ts"
import { Machine } from "./Host.ts"
import * as Installation from "./Installation.ts"
import * as ServerEntry from "@effect-mcp/client/ServerEntry"

/** Creates a target from an entry. Its values take precedence over the command line. */
const targetOf = (entry: ServerEntry.ServerEntry): Target.CommandTarget | undefined => {
  const words = entry._tag === "Reached" ? [entry.url] : [entry.command, ...entry.args]
  const target = Target.parse(words)
  if (target === undefined || entry._tag === "Started") {
    return target && { ...target, connect: (options) => target.connect({ ...options, ...startOf(entry, options) }) }
  }
  const transportOf = (given: Target.Options["transport"]) => (given === "auto" ? entry.transport : given)
  return {
    ...target,
    connect: (options) =>
      target.connect({
        ...options,
        headers: { ...entry.headers, ...options.headers },
        transport: transportOf(options.transport)
      })
  }
}

const startOf = (entry: ServerEntry.ServerEntry, { cwd, env }: Target.Options): Partial<Target.Options> =>
  entry._tag === "Started" ? { env: { ...entry.env, ...env }, cwd: cwd ?? entry.cwd } : {}

/** Returns the server with the name, or the only server if there is no name. */
export const target = Effect.fnUntraced(function* (given: string, name: string | undefined) {
  const path = yield* Path.Path
  const { cwd, env } = yield* Machine
  const file = path.resolve(cwd, given)
  const text = yield* Installation.textOf(file)
  if (text === undefined) return yield* usage(`--config ${given}: there is no such file`)
  const refused = (reason: string) => usage(`Cannot use ${file}: ${reason}`)
  const format = file.endsWith(".toml") ? "toml" : "json"
  const value = yield* Effect.mapError(Effect.fromResult(ConfigurationText.read(format, text)), refused)
  const section = ConfigurationText.sections.find((section) => Object.hasOwn(value, section))
  if (section === undefined) return yield* refused(`it has none of ${ConfigurationText.sections.join(", ")}`)
  const servers = yield* Effect.mapError(Effect.fromResult(ConfigurationText.serversOf(value, section)), refused)
  const names = Object.keys(servers)
  const chosen = name ?? (names.length === 1 ? names[0] : undefined)
  if (chosen === undefined || !Object.hasOwn(servers, chosen)) {
    return yield* refused(`--server must name one of ${names.join(", ")}${name === undefined ? "" : `, not ${name}`}`)
  }
  const entry = Result.flatMap(ServerEntry.parse(servers[chosen]), (entry) => ServerEntry.resolve(entry, env))
  const found = targetOf(yield* Effect.mapError(Effect.fromResult(entry), (reason) => refused(`${chosen}: ${reason}`)))
  return found ?? (yield* refused(`${chosen} has no command`))
})
