/**
 * Reads the servers of a host's configuration file: `{ "mcpServers": { "weather": { "command": "weather-server" } } }`.
 *
 * Substitutes environment variables (`${NAME}`, `${NAME:-default}`). One invalid server makes the whole file invalid.
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

/** The configuration cannot be read, or one of its servers is invalid. */
export class InvalidConfiguration extends Data.TaggedError("InvalidConfiguration")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** Keys that hosts use for the servers in their files. */
export const sections: ReadonlyArray<string> = ["mcpServers", "servers", "mcp_servers"]

/** A server from a file: a process or a URL. */
export type Configured = Server.TableServer<ConnectError, Http.Requirements | Stdio.Requirements>

export interface Options {
  /** Values of `${NAME}`. Default: the environment of this process. */
  readonly variables?: ServerEntry.EnvironmentVariables | undefined
  /** Options of every client. */
  readonly client?: ClientOptions | undefined
  /** Parses the text of a file. Default `JSON.parse`; a file with comments needs another parser. */
  readonly parse?: ((text: string) => unknown) | undefined
  /**
   * Returns a replacement for a server of the file, such as one with credentials, or `undefined` to keep the server. Default: keeps every
   * server.
   */
  readonly server?: ((name: string, entry: ServerEntry.ServerEntry) => Configured | undefined) | undefined
}

const invalid = (message: string, cause?: unknown): InvalidConfiguration => new InvalidConfiguration({ message, cause })

/** Returns the first section with servers that the value has. */
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

/** Returns the servers of a parsed configuration, except entries with `"disabled": true`. */
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

/** Reads the servers of a file. Fails with `InvalidConfiguration` if the file cannot be read, or one of its servers is invalid. */
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
