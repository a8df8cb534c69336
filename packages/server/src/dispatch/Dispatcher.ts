/**
 * Turns a request into the effect that handles it. Combines the server's method table, the specification's description
 * of a method, and a revision's codec, once per method and revision.
 *
 * A single table serves all revisions: a revision decides which methods exist and how they are encoded.
 */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as Caching from "../features/Caching.ts"
import type { ExtensionMethod } from "../features/ExtensionRegistry.ts"
import type { Features } from "../features/Features.ts"
import type { MiddlewareSet } from "../features/MiddlewareRegistry.ts"
import type { RateLimit } from "../features/RateLimit.ts"
import type { DecodedRequest, DecodedResult } from "../request/DecodedRequest.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import { codecOf } from "./Codec.ts"
import type { Handle, MethodOperation } from "./Operation.ts"
import * as ExtensionMethods from "./ExtensionMethods.ts"
import type { ServerInfo } from "./ServerInfo.ts"
import type { MethodTable } from "./methods.ts"

const sameForAll = (): boolean => false

export interface Options {
  readonly info: ServerInfo
  readonly features: Features
  readonly methods: MethodTable
  readonly caching: Caching.Hints
  readonly rateLimit: RateLimit
  /** True if middleware handles methods that the server doesn't know. */
  readonly answersUnknown: boolean
}

export class Dispatcher {
  private readonly options: Options
  private readonly operations = new Map<Revision, Map<string, MethodOperation>>()
  /** Operations for extension methods, which are added and removed with the extensions' layers. */
  private readonly ownOperations = new WeakMap<ExtensionMethod, MethodOperation>()
  /** All method names that extensions have used. The table contains none of them. */
  private readonly extensionMethods = new Set<string>()

  constructor(options: Options) {
    this.options = options
  }

  /**
   * Returns the operation, or `undefined` if the revision lacks the method or the server doesn't offer it. Operations for MCP methods are
   * created once, because their declaration doesn't change.
   */
  operation(revision: Revision, method: string): MethodOperation | undefined {
    let known = this.operations.get(revision)
    if (known === undefined) this.operations.set(revision, (known = new Map()))
    const found = known.get(method)
    if (found !== undefined) return found
    if (this.extensionMethods.has(method)) return this.own(revision, method)
    const made = this.make(revision, method)
    // Only methods in the table are cached, because a client may send any name.
    if (made === undefined) return this.own(revision, method)
    known.set(method, made)
    return made
  }

  /** Returns the operation for a request without a session, or `undefined` if it needs a session and middleware doesn't handle it. */
  withoutSession(operation: MethodOperation): MethodOperation | undefined {
    if (!operation.needsSession) return operation
    if (this.options.info.sessionMethods === "refused") return undefined
    return { ...operation, handle: () => Effect.fail(McpError.sessionRequired(operation.method)) }
  }

  /** Returns the operation for an extension's method. */
  private own(revision: Revision, method: string): MethodOperation | undefined {
    const { features, rateLimit } = this.options
    const { extensions } = features
    const own = extensions.method(method, revision)
    if (own === undefined) return this.unknown(method)
    const known = this.ownOperations.get(own)
    if (known !== undefined) return known
    const rule = rateLimit.ruleOf(method, own.extension.rateLimit)
    const made = ExtensionMethods.operationOf(extensions, own, revision, rule)
    this.ownOperations.set(own, made)
    this.extensionMethods.add(method)
    return made
  }

  private unknown(method: string): MethodOperation | undefined {
    const { answersUnknown, rateLimit } = this.options
    const isAnswered = answersUnknown && MethodInfo.ofRequest(method) === undefined
    return isAnswered ? ExtensionMethods.unknownOperation(method, rateLimit.ruleOf(method)) : undefined
  }

  private make(revision: Revision, method: string): MethodOperation | undefined {
    const { caching, info: server, methods, rateLimit } = this.options
    const info = MethodInfo.ofRequest(method)
    const codec = codecOf(revision, method)
    const row = methods.get(method)
    if (info === undefined || codec === undefined || row === undefined) return undefined
    if (MethodInfo.missingCapability(info, server.capabilities(), revision.rules) !== undefined) return undefined
    const { cacheHint, handle, variesByCaller = sameForAll } = row
    return {
      ...codec,
      method,
      // The params were decoded by this method's codec.
      handle: handle as Handle,
      needsSession: info.needsSession === true,
      mayAsk: info.mayAsk === true,
      hint: cacheHint && caching[cacheHint],
      variesByCaller,
      rateLimit: rateLimit.ruleOf(method),
      own: undefined,
      isKnown: true
    }
  }

  /** Creates the effect that handles a request, wrapped in the middleware. Called right before the effect runs. */
  answer(
    operation: MethodOperation,
    params: unknown,
    request: ServerRequest
  ): Effect.Effect<DecodedResult, McpError.McpError, RequestServices> {
    const { middleware } = this.options.features
    const untyped: unknown = { method: operation.method, params }
    const decoded = untyped as DecodedRequest // this method's codec decoded the params
    if (middleware.wraps(operation.method, decoded)) request.eager = false
    if (request.eager) return operation.handle(params, request)
    return within(middleware, operation, decoded, request)
  }
}

/** Wraps the handler in the middleware. */
const within = (
  middleware: MiddlewareSet,
  operation: MethodOperation,
  decoded: DecodedRequest,
  request: ServerRequest
): ReturnType<Dispatcher["answer"]> => {
  const { callerBinding } = request
  // The handler is looked up when the effect runs, because middleware may wait before running it or run it again.
  return middleware.apply(decoded, ({ params }) => {
    const handled = Effect.suspend(() => operation.handle(params, request))
    return callerBinding === undefined ? handled : Effect.andThen(callerBinding.bindCaller, handled)
  })
}
