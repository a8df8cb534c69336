/**
 * The servers of a configuration file, as hosts write it: `{ "mcpServers": { "weather": { "command": "weather-server" } } }`.
 *
 * Variables of the environment are filled in (`${NAME}`, `${NAME:-default}`). A file is taken as a whole or refused as a whole.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import type { ConnectError, Options as ClientOptions } from "../Client.ts"
import type * as Http from "../transport/Http.ts"
import type * as Stdio from "../transport/Stdio.ts"
import * as Server from "./Server.ts"
import * as ServerEntry from "./ServerEntry.ts"

/** The configuration cannot be read, or one of its servers cannot be used. */
export class InvalidConfiguration extends Data.TaggedError("InvalidConfiguration")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** Where servers may be in the file of a host. */
export const sections: ReadonlyArray<string> = ["mcpServers", "servers", "mcp_servers"]

/** Servers of a file: processes, and URLs. */
export type Configured = Server.TableServer<ConnectError, Http.Requirements | Stdio.Requirements>

export interface Options {
  /** What `${NAME}` stands for. Default: the environment of this process. */
  readonly variables?: ServerEntry.EnvironmentVariables | undefined
  /** Options of all clients. */
  readonly client?: ClientOptions | undefined
  /** Reads the text of a file. Default `JSON.parse`; files with comments need a parser that knows them. */
  readonly parse?: ((text: string) => unknown) | undefined
  /** What takes the place of a server of the file, such as one with credentials. Default: the server as the file has it. */
  readonly server?: ((name: string, entry: ServerEntry.ServerEntry) => Configured | undefined) | undefined
}

const invalid = (message: string, cause?: unknown): InvalidConfiguration => new InvalidConfiguration({ message, cause })

/** The servers of the first section that the value has, by name. */
const serversOf = (value: unknown): Result.Result<JsonObject, InvalidConfiguration> => {
  const section = isJsonObject(value) ? sections.find((name) => Object.hasOwn(value, name)) : undefined
  const servers = section === undefined || !isJsonObject(value) ? undefined : value[section]
  return isJsonObject(servers)
    ? Result.succeed(servers)
    : Result.fail(invalid(`There are no servers: expected an object with one of ${sections.join(", ")}`))
}

const serverOf = (entry: ServerEntry.ServerEntry, client: ClientOptions | undefined): Configured => {
  if (entry._tag === "Started") {
    const { args, command, cwd, env } = entry
    return Server.stdio({ command, args, cwd, env, client })
  }
  const { headers, transport, url } = entry
  return Server.http({ url, headers, transport, client })
}

/** The servers of a parsed configuration. An entry with `"disabled": true` is left out. */
export const table = (
  value: unknown,
  { client, server, variables = globalThis.process?.env ?? {} }: Options = {}
): Result.Result<{ readonly [name: string]: Configured }, InvalidConfiguration> =>
  Result.gen(function* () {
    const made: Array<readonly [name: string, server: Configured]> = []
    for (const [name, written] of Object.entries(yield* serversOf(value))) {
      if (isJsonObject(written) && written["disabled"] === true) continue
      const entry = yield* Result.mapError(
        Result.flatMap(ServerEntry.parse(written), (entry) => ServerEntry.resolve(entry, variables)),
        (reason) => invalid(`Cannot use the server ${name}: ${reason}`)
      )
      made.push([name, server?.(name, entry) ?? serverOf(entry, client)])
    }
    return Object.fromEntries(made)
  })

/** The servers of a file. */
export const read = Effect.fnUntraced(function* (
  file: string,
  options: Options = {}
): Effect.fn.Return<{ readonly [name: string]: Configured }, InvalidConfiguration, FileSystem.FileSystem> {
  const { parse = JSON.parse } = options
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(files.readFileString(file), (cause) =>
    invalid(`Cannot read ${file}: ${cause.message}`, cause)
  )
  const value = yield* Effect.try({
    try: (): unknown => parse(text),
    catch: (cause) => invalid(`Cannot read ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  })
  return yield* Effect.mapError(Effect.fromResult(table(value, options)), ({ message }) =>
    invalid(`Cannot use ${file}: ${message}`)
  )
})
