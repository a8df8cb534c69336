/**
 * The headers of a tool call: arguments that travel in headers, too (spec 2026-07-28: basic/transports/streamable-http, custom headers).
 *
 * The Tool value or the server's list says which arguments those are; the list is read for an unknown tool. After a refusal of the
 * headers (-32020) the list is read again, and the call is sent once more.
 */
import type { AnyTool } from "@effect-mcp/core/Tool"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import { headerAnnotations } from "@effect-mcp/protocol/internal/HeaderAnnotations"
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
  /**
   * Lists the tools where a call needs this one: for its headers, or for another reason. Reads the catalog when it is called, not when it
   * runs, as `call` does.
   */
  readonly ensureListed: (name: string, isNeeded?: boolean) => Effect.Effect<void, ClientError>
  /** Sends a call, by the input schema of the tool where that is given; else by the listed one. */
  readonly call: (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined,
    tool: AnyTool | undefined
  ) => Effect.Effect<CallToolResult, ClientError>
  /** Sends a call again that the server refused for its headers, after listing its tools. */
  readonly callAnew: (
    name: string,
    args: { readonly [name: string]: unknown },
    options: CallOptions | undefined
  ) => Effect.Effect<CallToolResult, ClientError>
  /** Sends any request; a tool call gets the headers of the listed schema. */
  readonly request: ReconnectingConnection["request"]
}

export interface Options {
  readonly connection: ReconnectingConnection
  readonly catalog: ToolCatalog
  /** The limits of a listing. */
  readonly limits: Lists.ListLimits
  /** Whether tools are listed before the first call of one that is not known. */
  readonly lists: boolean
}

/** The annotated arguments of a schema, parsed once. */
const annotated = new WeakMap<JsonObject, ReadonlyArray<HeaderParams.HeaderParam>>()
const paramsOf = (schema: JsonObject): ReadonlyArray<HeaderParams.HeaderParam> => {
  const known = annotated.get(schema) ?? HeaderParams.parse(schema).params
  annotated.set(schema, known)
  return known
}

const annotations = new WeakMap<object, JsonObject>()
/** What the annotated arguments of a tool are read from. */
const schemaOf = ({ input: { jsonSchema, schema } }: AnyTool): JsonObject | undefined => {
  if (jsonSchema !== undefined || schema === undefined) return jsonSchema
  const known = annotations.get(schema) ?? headerAnnotations(schema)
  annotations.set(schema, known)
  return known
}

export const make = ({ catalog, connection, limits, lists }: Options): ToolHeaders => {
  const list = (options?: CallOptions): Effect.Effect<void, ClientError> =>
    Lists.pages(connection, "tools/list", limits, options).pipe(
      Stream.runForEach(({ tools }) => Effect.sync(() => void catalog.learn(tools))),
      // A server that refuses to list its tools may still have this one.
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
