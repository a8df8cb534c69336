/**
 * From a request to the effect that answers it: joins the server's table of methods, what the specification says of a method, and the
 * codec of a revision, once per method and revision.
 *
 * One table for all revisions: a revision decides which methods exist and how they are coded.
 */
import type { CacheHint } from "@effect-mcp/core/CacheHint"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as Caching from "../features/Caching.ts"
import type { Features } from "../features/Features.ts"
import type { RateLimit, Rule } from "../features/RateLimit.ts"
import type { DecodedRequest, DecodedResult } from "../request/DecodedRequest.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import { type Codec, codecOf } from "./Codec.ts"
import type { ServerInfo } from "./ServerInfo.ts"
import type { Methods } from "./methods.ts"

type Handle = (
  params: unknown,
  request: ServerRequest
) => Effect.Effect<DecodedResult, McpError.McpError, RequestServices>

/** A method of one revision, as this server answers it. */
export interface Operation extends Codec {
  readonly method: string
  readonly handle: Handle
  readonly needsSession: boolean
  readonly mayAsk: boolean
  /** The hint that its results carry; undefined where they carry none, or their own. */
  readonly hint: CacheHint | undefined
  /** Whether the result depends on the caller, and is private whatever the hint says. */
  readonly variesByCaller: () => boolean
  readonly rateLimit: Rule | undefined
}

const sameForAll = (): boolean => false

export interface Options {
  readonly info: ServerInfo
  readonly features: Features
  readonly methods: Methods
  readonly caching: Caching.Hints
  readonly rateLimit: RateLimit
}

export class Dispatcher {
  private readonly options: Options
  private readonly operations = new Map<Revision, Map<string, Operation>>()

  constructor(options: Options) {
    this.options = options
  }

  /** Undefined for a method that the revision lacks or the server does not offer. Made once: what a server declares does not change. */
  operation(revision: Revision, method: string): Operation | undefined {
    let known = this.operations.get(revision)
    if (known === undefined) this.operations.set(revision, (known = new Map()))
    const found = known.get(method)
    if (found !== undefined) return found
    const made = this.make(revision, method)
    // Only methods of the table are kept: a client may send any name.
    if (made !== undefined) known.set(method, made)
    return made
  }

  private make(revision: Revision, method: string): Operation | undefined {
    const { caching, info: server, methods, rateLimit } = this.options
    const info = MethodInfo.ofRequest(method)
    const codec = codecOf(revision, method)
    if (info === undefined || codec === undefined || !Object.hasOwn(methods, method)) return undefined
    if (MethodInfo.missingCapability(info, server.capabilities(), revision.rules) !== undefined) return undefined
    const { cacheHint, handle, variesByCaller = sameForAll } = methods[method as keyof Methods]
    return {
      ...codec,
      method,
      // Its params are what the codec of this very method decoded.
      handle: handle as Handle,
      needsSession: info.needsSession === true,
      mayAsk: info.mayAsk === true,
      hint: cacheHint && caching[cacheHint],
      variesByCaller,
      rateLimit: rateLimit.ruleOf(method)
    }
  }

  /** The effect that answers a request, with the middleware around it. Called when that effect is about to run. */
  answer(
    operation: Operation,
    params: unknown,
    request: ServerRequest
  ): Effect.Effect<DecodedResult, McpError.McpError, RequestServices> {
    const { features } = this.options
    if (features.wrapped()) request.eager = false
    if (request.eager) return operation.handle(params, request)
    const decoded = { method: operation.method, params } as DecodedRequest // the codec of this very method decoded the params
    const { callerBinding } = request
    // The handler is looked up when the effect runs: middleware may wait first, or run the effect again.
    return features.middleware(decoded, ({ params }) => {
      const handled = Effect.suspend(() => operation.handle(params, request))
      return callerBinding === undefined ? handled : Effect.andThen(callerBinding.bindCaller, handled)
    })
  }
}
