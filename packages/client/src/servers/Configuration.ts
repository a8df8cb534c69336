/**
 * Reads servers from a host's configuration file, such as `{ "mcpServers": { "weather": { "command": "weather-server" } } }`.
 *
 * Substitutes environment variables (`${NAME}`, `${NAME:-default}`). A single invalid server makes the whole file invalid.
 */
import { textOf } from "@effect-mcp/core/internal/calling"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import type { ConnectError, Options as ClientOptions } from "../Client.ts"
import type * as Http from "../transport/Http.ts"
import type * as Stdio from "../transport/Stdio.ts"
import * as Server from "./Server.ts"
import * as ServerEntry from "./ServerEntry.ts"

/** The configuration can't be read, or one of its servers is invalid. */
export class InvalidConfiguration extends Data.TaggedError("InvalidConfiguration")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** Keys under which hosts list their servers. */
export const sections: ReadonlyArray<string> = ["mcpServers", "servers", "mcp_servers"]

/** A server read from a file: either a process or a URL. */
export type Configured = Server.TableServer<ConnectError, Http.Requirements | Stdio.Requirements>

export interface Options {
  /** Values to substitute for `${NAME}`. Default: this process's environment. */
  readonly variables?: ServerEntry.EnvironmentVariables | undefined
  /** Options for every client. */
  readonly client?: ClientOptions | undefined
  /** Parses the file's text. Default `JSON.parse`; pass another parser if the file has comments. */
  readonly parse?: ((text: string) => unknown) | undefined
  /**
   * Returns a replacement for a server, for example one with credentials, or `undefined` to keep the server from the file. Default: keeps
   * every server.
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
    : Result.fail(invalid(`No servers found: expected an object with one of ${sections.join(", ")}`))
}

const serverOf = (entry: ServerEntry.ServerEntry, client: ClientOptions | undefined): Configured => {
  if (entry._tag === "Started") {
    const { args, command, cwd, env } = entry
    return Server.stdio({ command, args, cwd, env, client })
  }
  const { headers, transport, url } = entry
  return Server.http({ url, headers, transport, client })
}

/** Returns the servers in a parsed configuration, skipping entries with `"disabled": true`. */
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
      const replaced = yield* Result.try({
        try: () => server?.(name, entry),
        catch: (cause) => invalid(`Cannot use the server ${name}: ${textOf(Cause.die(cause))}`, cause)
      })
      made.push([name, replaced ?? serverOf(entry, client)])
    }
    return Object.fromEntries(made)
  })

/** Reads servers from a file. Fails with `InvalidConfiguration` if the file can't be read or contains an invalid server. */
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
