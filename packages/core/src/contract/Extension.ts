/**
 * A protocol extension: its methods, notifications, subscriptions and `_meta` keys as one value that both sides share (spec 2026-07-28:
 * basic/versioning, extension negotiation). Handlers are registered with `Extensions` (server) and `ClientExtension` (client).
 *
 * IDs without a prefix and MCP's own method names are rejected.
 */
import type { ClientCapabilities, ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision, Version } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { codecOf, messageOf, type Shape } from "./MessageCodec.ts"
import type { AnyCodec, InvalidValue, TypeOf, ValueCodec } from "./ValueCodec.ts"

/** Default error code for a method's declared failure. It is specific to this project and outside the ranges of JSON-RPC and MCP. */
export const failureCode = -31422
/** The key under which an error's `data` carries a declared failure. */
export const failureKey = "effect-mcp/failure"

/** Optional properties of a method, in addition to its schemas. */
export interface RequestInfo {
  /** Revisions that include the method. Default: all revisions of the extension. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /** Name of the param to copy to the `Mcp-Name` header (2026-07-28: basic/transports/streamable-http). Default: no header. */
  readonly nameParam?: string | undefined
  /** True if the method only reads, so clients may retry it after losing the connection. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * True if the handler may ask the client questions, which takes several rounds since 2026-07-28. Default true. If false, `inputResponses`
   * and `requestState` are ordinary params.
   */
  readonly mayAsk?: boolean | undefined
  /** True if the method may run for a long time. Clients then request progress, which restarts the timeout. Default false. */
  readonly longRunning?: boolean | undefined
}

/** An extension method with params `P`, result `A` and declared failure `F`. `D` is the side that sends the request. */
export interface Request<P, A, F, D extends Sender = Sender> extends RequestInfo {
  readonly from: D
  readonly method: string
  readonly params: ValueCodec<P>
  readonly result: ValueCodec<A>
  readonly failure: ValueCodec<F> | undefined
  /** JSON-RPC error code for a declared failure. */
  readonly failureCode: number
  /** The extension that the method belongs to, or `undefined` until `make` sets it. */
  readonly extension: Identity | undefined
}

/** An extension notification with params `P`. */
export interface Notification<P, D extends Sender = Sender> {
  readonly from: D
  readonly method: string
  readonly params: ValueCodec<P>
  readonly extension: Identity | undefined
}

/** A kind of `subscriptions/listen` (2026-07-28): a filter field and its value. */
export interface Subscription<P> {
  /** Field name in the `notifications` param of `subscriptions/listen`. */
  readonly key: string
  readonly filter: ValueCodec<P>
  readonly extension: Identity | undefined
}

/** A `_meta` key and the schema of its value. */
export interface MetaKey<A> {
  readonly key: string
  readonly value: ValueCodec<A>
  /** Reads the value from a `_meta` object. Returns `undefined` if the key is absent. */
  readonly read: (meta: JsonObject) => Effect.Effect<A | undefined, InvalidValue>
  /** Returns an entry to add to a `_meta` object. */
  readonly entry: (value: A) => Effect.Effect<JsonObject, InvalidValue>
}

/** The side that sends a message. */
export type Sender = "client" | "server"

/** Identifies an extension, and says where it is declared. */
export interface Identity {
  readonly id: string
  /** Revisions in which the extension is available. */
  readonly revisions: ReadonlyArray<Version> | undefined
  /** The dedicated capability that declares the extension, if it has one. */
  readonly capability: "tasks" | undefined
  /** `served` if clients that didn't declare the extension may call its methods anyway. */
  readonly undeclared: "refused" | "served"
  /** The capabilities field that declares the extension in sessions. */
  readonly inSessions: "experimental" | "extensions"
}

type AnyRequest<D extends Sender> = Request<any, any, any, D> | Request<any, any, never, D>
type Requests<D extends Sender> = { readonly [name: string]: AnyRequest<D> }
type Notifications = { readonly [name: string]: Notification<any> }
type Subscriptions = { readonly [name: string]: Subscription<any> }
type MetaKeys = { readonly [name: string]: MetaKey<any> }

/** An extension. Servers, clients and tests share the same value. */
export interface Extension<
  Reqs extends Requests<"client">,
  Qs extends Requests<"server">,
  Ns extends Notifications,
  Subs extends Subscriptions,
  Ms extends MetaKeys,
  CS,
  SS
> extends Identity {
  readonly description: string | undefined
  /** Methods that clients call. */
  readonly requests: Reqs
  /** Methods that servers call. They are sent as a request in a session, and as a question in a result since 2026-07-28. */
  readonly questions: Qs
  readonly notifications: Ns
  readonly subscriptions: Subs
  readonly meta: Ms
  /** Settings that each side declares together with the extension. */
  readonly clientSettings: ValueCodec<CS>
  readonly serverSettings: ValueCodec<SS>
}

/** Any extension. */
export type Any = Extension<any, any, any, any, any, any, any>

type TypeOfShape<S extends Shape | undefined> = undefined extends S ? {} : TypeOf<S>

/**
 * A method's schemas. `params` and `result` are struct fields or object schemas, and are empty by default. They don't include `_meta`,
 * unless a result has a field with that name.
 */
export interface RequestShapes<P extends Shape, A extends Shape, F extends AnyCodec> extends RequestInfo {
  readonly params?: P
  readonly result?: A
  /** Failure schema. A peer that uses the same value receives matching failures as typed errors. */
  readonly failure?: F
  /** JSON-RPC error code for the failure. Default -31422. */
  readonly failureCode?: number
}

const makeRequest = <D extends Sender, P extends Shape, A extends Shape, F extends AnyCodec>(
  from: D,
  method: string,
  shapes: RequestShapes<P, A, F>
): Request<TypeOf<P>, TypeOf<A>, F["Type"], D> => {
  const { failure, failureCode: code = failureCode, params, result, ...info } = shapes
  return {
    ...info,
    from,
    method,
    params: messageOf(`The params of ${method}`, params),
    result: messageOf(`The result of ${method}`, result),
    failure: failure && codecOf(`The failure of ${method}`, failure),
    failureCode: code,
    extension: undefined
  }
}

/** Defines a method that a client calls and a server handles. */
export const request = <const P extends Shape = {}, const A extends Shape = {}, F extends AnyCodec = Schema.Never>(
  method: string,
  shapes: RequestShapes<P, A, F> = {}
): Request<TypeOf<P>, TypeOf<A>, F["Type"], "client"> => makeRequest("client", method, shapes)

/** Defines a method that a server calls while handling a request, and that the client handles. */
export const question = <const P extends Shape = {}, const A extends Shape = {}, F extends AnyCodec = Schema.Never>(
  method: string,
  shapes: RequestShapes<P, A, F> = {}
): Request<TypeOf<P>, TypeOf<A>, F["Type"], "server"> => makeRequest("server", method, shapes)

/** Defines a notification sent by the `from` side. */
export const notification = <D extends Sender, const P extends Shape = {}>(
  method: string,
  { from, params }: { readonly from: D; readonly params?: P }
): Notification<TypeOf<P>, D> => ({
  from,
  method,
  params: messageOf(`The params of ${method}`, params),
  extension: undefined
})

/** Defines a kind of `subscriptions/listen`. `filter` is the schema of the value a client sends to subscribe. */
export const subscription = <F extends AnyCodec>(key: string, filter: F): Subscription<F["Type"]> => ({
  key,
  filter: codecOf(`The filter ${key}`, filter),
  extension: undefined
})

/** Defines a `_meta` key that starts with the extension's prefix. */
export const meta = <F extends AnyCodec>(key: string, schema: F): MetaKey<F["Type"]> => {
  const value: ValueCodec<F["Type"]> = codecOf(`The _meta key ${key}`, schema)
  return {
    key,
    value,
    read: (meta) => (Object.hasOwn(meta, key) ? value.decode(meta[key]) : Effect.succeed(undefined)),
    entry: (given) => Effect.map(value.encode(given), (wire) => ({ [key]: wire }))
  }
}

/** The parts of an extension. All of them are optional. */
export interface Definition<
  Reqs extends Requests<"client">,
  Qs extends Requests<"server">,
  Ns extends Notifications,
  Subs extends Subscriptions,
  Ms extends MetaKeys,
  CS extends Shape | undefined,
  SS extends Shape | undefined
> {
  /** Documentation: describes the extension and how a peer without it falls back. */
  readonly description?: string
  readonly requests?: Reqs
  readonly questions?: Qs
  readonly notifications?: Ns
  readonly subscriptions?: Subs
  readonly meta?: Ms
  /** Settings that clients declare with the extension. Default: an empty object. */
  readonly clientSettings?: CS
  /** Settings that servers declare with the extension. Default: an empty object. */
  readonly serverSettings?: SS
  /** Revisions in which the extension is available. Default: all revisions. */
  readonly revisions?: ReadonlyArray<Version>
  /**
   * Dedicated capability that declares the extension instead of an entry in `extensions`, like tasks in 2025-11-25. Default: an entry in
   * `extensions`.
   */
  readonly capability?: "tasks"
  /**
   * How to treat requests from a client that didn't declare the extension: `refused` rejects them with -32021 and the missing declaration;
   * `served` handles them. Default `refused`.
   */
  readonly undeclared?: "refused" | "served"
  /**
   * The capabilities field that declares the extension in revisions with sessions, which have no field for extensions. Set `extensions` if
   * other implementations read it there. Both fields are always read. Default `experimental`.
   */
  readonly inSessions?: "experimental" | "extensions"
}

/**
 * Defines an extension. `id` needs a prefix in reverse DNS notation. Throws if the ID or a `_meta` key has no prefix, or if MCP already
 * defines one of the methods or subscriptions, or if one is defined twice.
 *
 * @example
 * ```ts
 * import { Extension } from "@effect-mcp/core"
 * import { Schema } from "effect"
 *
 * export const Clock = Extension.make("com.example/clock", {
 *   serverSettings: { zone: Schema.String },
 *   requests: { now: Extension.request("com.example/clock/now", { result: { time: Schema.String } }) },
 *   notifications: {
 *     tick: Extension.notification("notifications/com.example/clock/tick", { from: "server", params: { time: Schema.String } })
 *   }
 * })
 *
 * console.log(Clock.requests.now.method) // => com.example/clock/now
 * ```
 */
export const make = <
  const Reqs extends Requests<"client"> = {},
  const Qs extends Requests<"server"> = {},
  const Ns extends Notifications = {},
  const Subs extends Subscriptions = {},
  const Ms extends MetaKeys = {},
  const CS extends Shape | undefined = undefined,
  const SS extends Shape | undefined = undefined
>(
  id: string,
  definition: Definition<Reqs, Qs, Ns, Subs, Ms, CS, SS> = {}
): Extension<Reqs, Qs, Ns, Subs, Ms, TypeOfShape<CS>, TypeOfShape<SS>> => {
  const { capability, clientSettings, description, revisions, serverSettings } = definition
  const { inSessions = "experimental", undeclared = "refused" } = definition
  if (!Meta.isExtensionId(id)) {
    throw new Error(`An extension id must have a prefix, such as com.example/name: ${JSON.stringify(id)}`)
  }
  checkNames(id, definition)
  const identity: Identity = { id, revisions, capability, undeclared, inSessions }
  return {
    ...identity,
    description,
    requests: owned(definition.requests, identity),
    questions: owned(definition.questions, identity),
    notifications: owned(definition.notifications, identity),
    subscriptions: owned(definition.subscriptions, identity),
    meta: definition.meta ?? ({} as Ms), // the default of the type parameter
    clientSettings: codecOf(`The client settings of ${id}`, clientSettings),
    serverSettings: codecOf(`The server settings of ${id}`, serverSettings)
  }
}

/** Links the parts to their extension. */
const owned = <T extends { readonly [name: string]: object }>(parts: T | undefined, extension: Identity): T =>
  // Each part keeps its type, because `extension` is already one of its fields.
  Object.fromEntries(Object.entries(parts ?? {}).map(([name, part]) => [name, { ...part, extension }])) as T

const isKnown = (method: string): boolean =>
  [
    MethodInfo.clientRequests,
    MethodInfo.serverRequests,
    MethodInfo.clientNotifications,
    MethodInfo.serverNotifications
  ].some((table) => Object.hasOwn(table, method))

/** Throws if a name is empty, defined by MCP or used twice. */
const checkOwn = (id: string, what: string, names: ReadonlyArray<string>, isKnown: (name: string) => boolean): void => {
  for (const [i, name] of names.entries()) {
    if (name === "" || isKnown(name)) {
      throw new Error(
        `The extension ${id} cannot define the ${what} ${JSON.stringify(name)}: the name is empty, or MCP already defines it`
      )
    }
    if (names.indexOf(name) !== i) throw new Error(`The extension ${id} defines the ${what} ${name} twice`)
  }
}

const checkNames = (
  id: string,
  { meta = {}, notifications, questions, requests, subscriptions = {} }: Definition<any, any, any, any, any, any, any>
) => {
  const methods = [requests, questions, notifications].flatMap(
    (parts: { readonly [name: string]: { readonly method: string } } = {}) =>
      Object.values(parts).map(({ method }) => method)
  )
  checkOwn(id, "method", methods, isKnown)
  const kinds = Object.values<Subscription<unknown>>(subscriptions).map(({ key }) => key)
  checkOwn(id, "subscription", kinds, (key) => Object.hasOwn(SubscriptionFilter.fields, key))
  const bare = Object.values<MetaKey<unknown>>(meta).find(({ key }) => !Meta.isExtensionId(key))
  if (bare !== undefined) {
    throw new Error(
      `A _meta key must have a prefix, such as com.example/name, but ${id} has ${JSON.stringify(bare.key)}`
    )
  }
}

/** True if the extension is available in the revision. */
export const isIn = ({ revisions }: Pick<Identity, "revisions">, { version }: Pick<Revision, "version">): boolean =>
  revisions === undefined || revisions.includes(version)

/** True if both extensions are available in a common revision. */
export const meet = (one: Identity, other: Identity): boolean =>
  one.revisions === undefined || one.revisions.some((version) => isIn(other, { version }))

type Capabilities = ClientCapabilities | ServerCapabilities

/** Returns an extension's settings from declared capabilities, or `undefined` if it isn't declared or isn't available in the revision. */
export const settingsIn = (
  extension: Omit<Identity, "inSessions" | "undeclared">,
  revision: Pick<Revision, "rules" | "version">,
  capabilities: Capabilities
): JsonObject | undefined => {
  const { capability, id } = extension
  if (!isIn(extension, revision)) return undefined
  if (capability !== undefined) return capabilities[capability]
  // Clients of older revisions use either field to declare extensions.
  return entryOf(capabilities[revision.rules.extensions], id) ?? entryOf(capabilities.extensions, id)
}

const entryOf = (declared: { readonly [id: string]: JsonObject } | undefined, id: string): JsonObject | undefined =>
  declared !== undefined && Object.hasOwn(declared, id) ? declared[id] : undefined

/** Returns the capabilities that declare an extension with these settings, in the revision's format. */
export const declarationOf = (
  { capability, id, inSessions }: Identity,
  { rules }: Pick<Revision, "rules">,
  settings: JsonObject
): Pick<Capabilities, "experimental" | "extensions" | "tasks"> => {
  const field = rules.extensions === "experimental" ? inSessions : rules.extensions
  return capability === undefined ? { [field]: { [id]: settings } } : { [capability]: settings }
}

/** True if an extension method is available in the revision. */
export const hasMethod = (
  { extension, revisions }: Pick<Request<any, any, any>, "extension" | "revisions">,
  revision: Pick<Revision, "version">
): boolean =>
  (extension === undefined || isIn(extension, revision)) &&
  (revisions === undefined || revisions.includes(revision.version))
