/**
 * The stateless revision (2026-07-28), in which each request declares its revision, client, capabilities and log level in `_meta`.
 *
 * There are no sessions, and no state is kept between requests. It shares features, dispatcher and handlers with the stateful revisions. A
 * handler that asks its client is replayed (`mrtr/Replay`). A request's headers must match its body.
 */
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import * as CacheHint from "@effect-mcp/core/CacheHint"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as Headers from "@effect-mcp/protocol/Headers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Declaration } from "@effect-mcp/protocol/model/Declaration"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision, Version } from "@effect-mcp/protocol/Revision"
import { declaration } from "@effect-mcp/protocol/internal/eras"
import { exitOf } from "@effect-mcp/core/internal/calling"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Dispatcher } from "./Dispatcher.ts"
import type { MethodOperation } from "./Operation.ts"
import type { Features } from "../features/Features.ts"
import { type ServerInfo, supportedVersions } from "./ServerInfo.ts"
import * as EncodedLists from "../features/EncodedLists.ts"
import type { Logging } from "./Logging.ts"
import type { DecodedResult } from "../request/DecodedRequest.ts"
import * as ExtensionMethods from "./ExtensionMethods.ts"
import * as InputRounds from "../mrtr/InputRounds.ts"
import * as RateLimit from "../features/RateLimit.ts"
import type { Origin } from "./Origin.ts"
import { ended } from "./SubscriptionsListen.ts"
import type { NegotiatedSession } from "../session/Session.ts"
import { type EraContext, metaOf } from "../request/RequestServices.ts"
import { ServerRequest } from "../request/ServerRequest.ts"

export interface Options {
  readonly info: ServerInfo
  readonly features: Features
  readonly dispatcher: Dispatcher
  readonly rateLimit: RateLimit.RateLimit
  readonly logging: Logging
  readonly rounds: InputRounds.InputRounds
}

/** True if a message is stateless. Its `_meta` decides, never its method. */
export const isModern = (message: JsonRpc.Request | JsonRpc.Notification): boolean =>
  metaOf(message)[Meta.protocolVersion] !== undefined

const declarationCodec = Codecs.coder(declaration)
const declarations = {
  decode: (meta: unknown) => Effect.mapErrorEager(declarationCodec.decode(meta), declarationFailed)
}
const declarationFailed = (message: string): McpError.McpError => McpError.invalidParams(`Invalid _meta: ${message}`)

/** True if a handler's error has the data that the specification requires for its code. */
const isAllowedError = ({ code, data }: McpError.McpError): boolean =>
  isJsonObject(data) &&
  (code === McpError.MissingClientCapability
    ? isJsonObject(data.requiredCapabilities)
    : // A gateway compares headers with arguments when it knows the tool, inside the handler.
      code === McpError.HeaderMismatch && typeof data.tool === "string")

/** Replaces errors whose codes are reserved by the specification or by older revisions, because handlers must not use them. */
const sanitizeError = (error: McpError.McpError): McpError.McpError =>
  error.code <= -32000 && error.code >= -32099 && !isAllowedError(error) ? McpError.internalError(error.message) : error

/**
 * The same for a method that middleware answers. Header mismatches are allowed, because only the server behind the
 * middleware knows which headers mirror the method's params.
 */
const sanitizeForeign = (error: McpError.McpError): McpError.McpError =>
  error.code === McpError.HeaderMismatch ? error : sanitizeError(error)

/** Adds a caching hint to the result. A hint in the result itself takes precedence. */
const hinted = <A extends object>({ hint, variesByCaller }: MethodOperation, result: A): A => {
  if (hint === undefined) return result
  return { ...CacheHint.fields(variesByCaller() ? { ...hint, scope: "private" } : hint), ...result }
}

/**
 * Uses the error to decide whether middleware has the method. -32601 means that the method doesn't exist; any other
 * error comes from a handler.
 */
const admit = ({ admitted }: Origin, { code }: McpError.McpError): void => {
  if (code !== McpError.MethodNotFound) admitted?.()
}

/** Handles stateless requests. */
export class StatelessEra {
  private readonly options: Options
  private readonly served: ReadonlyMap<string, Revision>
  /** All supported versions, for use in errors. */
  private readonly supported: ReadonlyArray<Version>

  constructor(options: Options) {
    this.options = options
    this.served = new Map(
      options.info.revisions.flatMap((revision) => (revision.era === "stateless" ? [[revision.version, revision]] : []))
    )
    this.supported = supportedVersions(options.info)
  }

  /** Handles a request. `eager` is as in `HandledRequest`. */
  handle(origin: Origin, received: ReceivedRequest, eager: boolean): Effect.Effect<unknown, McpError.McpError> {
    const { dispatcher, rateLimit } = this.options
    const { envelope, request } = received
    // Checked first, because a client that uses a later revision may send other headers and params, and only this error
    // makes it fall back.
    const unserved = this.unservedVersion(request, envelope.headers)
    if (unserved !== undefined) return Effect.fail(McpError.unsupportedProtocolVersion(this.supported, unserved))
    const different = envelope.headers === undefined ? undefined : this.mismatch(request, envelope.headers, origin)
    if (different !== undefined) return Effect.fail(this.headerMismatch(request, different))
    const revision = this.revisionOf(request)
    if (revision instanceof McpError.McpError) return Effect.fail(revision)
    const { method, params } = request
    if (method === "initialize") return Effect.fail(this.noInitialize())
    const operation = dispatcher.operation(revision, method)
    const principal = envelope.principal ?? origin.principal
    const caller = () => ({ principal, revision, duplex: origin.duplex === true })
    if (operation === undefined || !ExtensionMethods.isOffered(operation.own, caller)) {
      return Effect.fail(McpError.methodNotFound(method))
    }
    if (operation.rateLimit !== undefined) {
      const isResumed = typeof params?.requestState === "string"
      const now = RateLimit.arrivalOf(received, eager)
      const excess = rateLimit.take(operation.rateLimit, isResumed, origin, principal, origin.address, now)
      if (excess !== undefined) return Effect.fail(excess)
    }
    const answered = Effect.flatMapEager(declarations.decode(metaOf(request)), (declared) => {
      const client = { revision, capabilities: declared[Meta.clientCapabilities] }
      const undeclared = operation.own && ExtensionMethods.undeclaredMethod(operation.own, client)
      if (undeclared !== undefined) return Effect.fail(undeclared)
      if (operation.isKnown) origin.admitted?.()
      const answer = Effect.flatMapEager(operation.decode(params), (params) =>
        Effect.flatMapEager(this.answer(operation, params, declared, revision, origin, received, eager), (result) =>
          this.encode(operation, client, result)
        )
      )
      return operation.isKnown ? answer : Effect.tapError(answer, (error) => Effect.sync(() => admit(origin, error)))
    })
    return Effect.mapErrorEager(answered, operation.isKnown ? sanitizeError : sanitizeForeign)
  }

  /** Returns the result for a subscription that the server ends, or `undefined` for other methods. */
  subscriptionResult(request: JsonRpc.Request): unknown {
    const revision = this.revisionOf(request)
    if (revision instanceof McpError.McpError) return undefined
    const operation = this.options.dispatcher.operation(revision, request.method)
    if (operation === undefined) return undefined
    const encoded = exitOf(this.encode(operation, { revision, capabilities: {} }, ended(request.id)))
    return encoded !== undefined && Exit.isSuccess(encoded) ? encoded.value : undefined
  }

  /**
   * Returns the version that a request asks for if it is not supported. Returns `undefined` if header and body differ, which is reported as
   * a mismatch.
   */
  private unservedVersion(request: JsonRpc.Request, headers: Headers.Headers | undefined): string | undefined {
    const declared = metaOf(request)[Meta.protocolVersion]
    const header = headers?.[Headers.version]?.trim()
    const version = declared ?? header
    if (typeof version !== "string" || this.served.has(version)) return undefined
    return header === undefined || header === version.trim() ? version : undefined
  }

  private revisionOf(request: JsonRpc.Request | JsonRpc.Notification): Revision | McpError.McpError {
    const version = metaOf(request)[Meta.protocolVersion]
    const revision = typeof version === "string" ? this.served.get(version) : undefined
    if (revision !== undefined) return revision
    return typeof version === "string"
      ? McpError.unsupportedProtocolVersion(this.supported, version)
      : McpError.invalidParams(`_meta: ${Meta.protocolVersion} must be a string`)
  }

  /** Returns how a request's headers differ from its body. Headers for mounted tools are checked by the server behind them. */
  private mismatch(request: JsonRpc.Request, headers: Headers.Headers, { principal }: Origin): string | undefined {
    const standard = Headers.mismatch(headers, request, this.ownNameParam)
    if (standard !== undefined || request.method !== "tools/call") return standard
    const params = this.options.features.tools.headerParams(request.params?.name, principal)
    return Headers.paramMismatch(headers, params, request.params?.arguments)
  }

  /**
   * The name param of an extension's method. Headers are compared before it is known whether the request's revision is
   * supported.
   */
  private readonly ownNameParam = (method: string): string | undefined => {
    const extensions = this.options.features.extensions
    if (extensions.isEmpty()) return undefined
    for (const revision of this.served.values()) {
      const own = extensions.method(method, revision)
      if (own !== undefined) return own.part.request.nameParam
    }
    return undefined
  }

  /** Returns the client's declaration in a notification that names a revision of this era. */
  clientOf(notification: JsonRpc.Notification): NegotiatedSession | undefined {
    const revision = this.revisionOf(notification)
    if (revision instanceof McpError.McpError) return undefined
    const declared = Effect.runSyncExit(declarations.decode(metaOf(notification)))
    if (Exit.isFailure(declared)) return undefined
    const { [Meta.clientCapabilities]: clientCapabilities, [Meta.clientInfo]: clientInfo } = declared.value
    return { revision, clientCapabilities, clientInfo }
  }

  private headerMismatch(request: JsonRpc.Request, different: string): McpError.McpError {
    const { code, message } = McpError.headerMismatch(different)
    // Tells an older client which versions are supported.
    const more = request.method === "initialize" ? { data: { supported: this.supported } } : undefined
    return new McpError.McpError({ code, message, ...more })
  }

  /** A client may show its user only this error, so the error lists the versions. */
  private noInitialize(): McpError.McpError {
    const message = `Method not found: initialize. This server only supports protocol versions without it: ${[...this.served.keys()].join(", ")}`
    return new McpError.McpError({ code: McpError.MethodNotFound, message, data: { supported: this.supported } })
  }

  /** Returns the effect that answers a decoded request, with questions if the method may ask. */
  private answer(
    operation: MethodOperation,
    params: unknown,
    declared: Declaration,
    revision: Revision,
    origin: Origin,
    received: ReceivedRequest,
    eager: boolean
  ): Effect.Effect<DecodedResult, McpError.McpError> {
    const { dispatcher, rounds } = this.options
    const principal = received.envelope.principal ?? origin.principal
    const eraContextOf = (input: EraContext["input"]) => this.eraContextOf(input, declared, revision, origin, received)
    const handler = (request: ServerRequest) => dispatcher.answer(operation, params, request)
    if (operation.mayAsk) {
      const capabilities = declared[Meta.clientCapabilities]
      const { method } = operation
      return rounds.run(handler, { received, principal, revision, capabilities, eraContextOf, method, params, eager })
    }
    const request = new ServerRequest(received, principal, undefined, () => eraContextOf(InputRounds.none), eager)
    return request.provide(handler(request))
  }

  private eraContextOf(
    input: EraContext["input"],
    declared: Declaration,
    revision: Revision,
    origin: Origin,
    received: ReceivedRequest
  ): EraContext {
    return {
      context: {
        revision,
        sessionId: undefined,
        clientInfo: declared[Meta.clientInfo],
        clientCapabilities: declared[Meta.clientCapabilities]
      },
      input,
      log: this.options.logging.forRequest(origin, received, () => declared[Meta.logLevel]),
      rootsChanges: undefined,
      connection: origin.connection,
      duplex: origin.duplex === true,
      closing: origin.closing,
      holder: origin
    }
  }

  private encode(
    operation: MethodOperation,
    client: ClientDeclaration,
    result: DecodedResult
  ): Effect.Effect<unknown, McpError.McpError> {
    const wire = ExtensionMethods.encoded(
      result,
      () => client,
      (result) =>
        EncodedLists.encoded(result, client.revision.version, () =>
          Effect.mapEager(operation.encode(hinted(operation, result)), (wire) => this.signed(wire))
        )
    )
    return isEncodedResult(result) ? Effect.mapEager(wire, (wire) => this.signed(wire)) : wire
  }

  /** Adds the server's name to the result's `_meta`. A gateway's results carry the name of the server behind it. */
  private signed(wire: unknown): unknown {
    return !isJsonObject(wire) || (isJsonObject(wire._meta) && wire._meta[Meta.serverInfo] !== undefined)
      ? wire
      : Meta.withMeta(wire, { [Meta.serverInfo]: this.options.info.implementation })
  }
}
