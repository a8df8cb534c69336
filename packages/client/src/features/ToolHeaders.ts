/**
 * Headers of tool calls: some arguments must also be sent as headers (spec 2026-07-28: basic/transports/streamable-http, custom headers).
 *
 * The Tool value or the server's list says which arguments. The list is read before an unknown tool is called. If the server rejects the
 * headers (-32020), the list is read again and the call repeated once.
 */
import type { AnyTool } from "@effect-mcp/core/Tool"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import { headerAnnotations } from "@effect-mcp/protocol/internal/toolSchema"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Lists from "./Lists.ts"
import type { ToolCatalog } from "./ToolCatalog.ts"

export interface ToolHeaders {
  /**
   * Lists the tools if the call needs an unlisted one, for its headers or another reason. Like `call`, reads the catalog when it is called,
   * not when its effect runs.
   */
  readonly ensureListed: (name: string, isNeeded?: boolean) => Effect.Effect<void, ClientError>
  /** Sends a call with headers according to the tool's own input schema if there is one, or else the listed schema. */
  readonly call: (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined,
    tool: AnyTool | undefined
  ) => Effect.Effect<CallToolResult, ClientError>
  /** Lists the tools and repeats a call after the server rejected its headers. */
  readonly callAnew: (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined
  ) => Effect.Effect<CallToolResult, ClientError>
  /** Sends any request. Adds headers to tool calls according to the listed schema. */
  readonly request: ReconnectingConnection["request"]
}

export interface Options {
  readonly connection: ReconnectingConnection
  readonly catalog: ToolCatalog
  readonly limits: Lists.ListLimits
  /** Whether to list tools before the first call to an unknown one. */
  readonly lists: boolean
}

const paramsOf = memoize((schema: JsonObject) => HeaderParams.parse(schema).params)
const annotationsOf = memoize(headerAnnotations)

/** Returns the schema that contains the annotations of the tool's arguments. */
const schemaOf = ({ input: { jsonSchema, schema } }: AnyTool): JsonObject | undefined =>
  jsonSchema ?? (schema && annotationsOf(schema))

export const make = ({ catalog, connection, limits, lists }: Options): ToolHeaders => {
  const list = (options?: CallOptions): Effect.Effect<void, ClientError> =>
    Lists.pages(connection, "tools/list", limits, options).pipe(
      Stream.runForEach(({ tools }) => Effect.sync(() => void catalog.learn(tools))),
      // A server that does not list its tools may still have this one.
      Effect.catchTag("McpError", () => Effect.void)
    )
  const ensureListed = (name: string, isNeeded = connection.headers): Effect.Effect<void, ClientError> =>
    isNeeded && lists && !catalog.knows(name) ? Effect.map(list(), () => catalog.markAbsent(name)) : Effect.void

  const headersOf = (schema: JsonObject | undefined, args: unknown) => {
    const params = schema === undefined ? [] : paramsOf(schema)
    return params.length === 0 ? undefined : Headers.ofParams(params, args)
  }

  const withHeaders = (options: CallOptions | undefined, mirrored: CallOptions["headers"]): CallOptions => ({
    ...options,
    headers: mirrored === undefined ? options?.headers : { ...options?.headers, ...mirrored }
  })
  const callWith = (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined
  ): Effect.Effect<CallToolResult, ClientError> => connection.request("tools/call", { name, arguments: args }, options)

  const sending = <A>(
    name: string,
    args: unknown,
    options: CallOptions | undefined,
    schema: JsonObject | undefined,
    request: (options: CallOptions) => Effect.Effect<A, ClientError>
  ): Effect.Effect<A, ClientError> => {
    const send = (mirrored: CallOptions["headers"]) => request(withHeaders(options, mirrored))
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
    call: (name, args, options, tool) => {
      const schema = tool && schemaOf(tool)
      return sending(name, args, options, schema, (options) => callWith(name, args, options))
    },
    callAnew: (name, args, options) =>
      Effect.flatMap(list({ fresh: true }), () =>
        callWith(name, args, withHeaders(options, headersOf(catalog.inputSchema(name), args)))
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
