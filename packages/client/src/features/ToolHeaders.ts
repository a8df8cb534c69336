/**
 * Arguments of a tool that travel in headers, too (spec 2026-07-28: basic/transports/streamable-http, custom headers): what a call over
 * such a wire takes along.
 *
 * Which arguments those are says the Tool value, or the server's list, which is asked for when a tool is not known. A server that
 * refuses what was taken along has changed its mind: it is asked for its list, and then once more for the call.
 */
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Lists from "./Lists.ts"
import type { ToolCatalog } from "./ToolCatalog.ts"

export interface ToolHeaders {
  /** Has the tool listed where a call needs to know it. Looks at what is known when it is called, not when it runs, as `call` does. */
  readonly ensureListed: (name: string) => Effect.Effect<void, ClientError>
  /** Sends a call. `schema`: the tool's input, if the caller knows it; else it is one that has been listed. */
  readonly call: (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined,
    schema: JsonObject | undefined
  ) => Effect.Effect<CallToolResult, ClientError>
  /** Any request; one that calls a tool takes along what the list says. */
  readonly request: ReconnectingConnection["request"]
}

export interface Options {
  readonly connection: ReconnectingConnection
  readonly catalog: ToolCatalog
  /** How much a listing reads at most. */
  readonly limits: Lists.Limits
}

/** What a schema annotates, found out once. */
const annotated = new WeakMap<JsonObject, ReadonlyArray<HeaderParams.HeaderParam>>()
const paramsOf = (schema: JsonObject): ReadonlyArray<HeaderParams.HeaderParam> => {
  const known = annotated.get(schema) ?? HeaderParams.parse(schema).params
  annotated.set(schema, known)
  return known
}

export const make = ({ catalog, connection, limits }: Options): ToolHeaders => {
  const list = (options?: CallOptions): Effect.Effect<void, ClientError> =>
    Lists.pages(connection, "tools/list", limits, options).pipe(
      Stream.runForEach(({ tools }) => Effect.sync(() => void catalog.learn(tools))),
      // A server that does not show its tools may still have this one.
      Effect.catchTag("McpError", () => Effect.void)
    )
  const ensureListed = (name: string): Effect.Effect<void, ClientError> =>
    connection.headers && !catalog.knows(name) ? Effect.map(list(), () => catalog.markAbsent(name)) : Effect.void

  const headersOf = (schema: JsonObject | undefined, args: unknown) => {
    const params = schema === undefined ? [] : paramsOf(schema)
    return params.length === 0 ? undefined : Headers.ofParams(params, args)
  }

  const sending = <A>(
    name: string,
    args: unknown,
    options: CallOptions | undefined,
    schema: JsonObject | undefined,
    request: (options: CallOptions) => Effect.Effect<A, ClientError>
  ): Effect.Effect<A, ClientError> => {
    const send = (mirrored: CallOptions["headers"]) =>
      request({ ...options, headers: mirrored === undefined ? options?.headers : { ...options?.headers, ...mirrored } })
    if (!connection.headers) return send(undefined)
    const listed = () => headersOf(catalog.inputSchema(name), args)
    return Effect.catchTag(send(schema === undefined ? listed() : headersOf(schema, args)), "McpError", (error) =>
      error.code === McpError.HeaderMismatch
        ? Effect.flatMap(list({ fresh: true }), () => send(listed()))
        : Effect.fail(error)
    )
  }

  return {
    ensureListed,
    call: (name, args, options, schema) =>
      sending(name, args, options, schema, (options) =>
        connection.request("tools/call", { name, arguments: args }, options)
      ),
    request: (method, params, options) => {
      const wanted: unknown = method === "tools/call" ? params : undefined
      const { arguments: args, name }: JsonObject = isJsonObject(wanted) ? wanted : {}
      const send = (options?: CallOptions) => connection.request(method, params, options)
      if (typeof name !== "string") return send(options)
      return Effect.suspend(() =>
        Effect.flatMapEager(ensureListed(name), () => sending(name, args, options, undefined, send))
      )
    }
  }
}
