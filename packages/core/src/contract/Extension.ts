/**
 * An extension of the protocol: own methods, notifications, subscriptions and keys of `_meta`, as one value that both sides share
 * (spec 2026-07-28: basic/versioning, extension negotiation). Handlers live in `Extensions` (server) and `ClientExtension` (client).
 *
 * Owns the shapes of an extension and where a revision declares it. Refuses ids without a prefix and names of methods that MCP has.
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

/** The failure of a method that its extension declares, when the definition names no code. Own code outside the ranges of JSON-RPC and MCP. */
export const failureCode = -31422
/** The key of a declared failure in the `data` of an error. */
export const failureKey = "effect-mcp/failure"

/** What is known of a method beside its shapes. */
export interface RequestInfo {
  /** The revisions that have the method. Default: those of its extension. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /** The param that the header `Mcp-Name` mirrors (2026-07-28: basic/transports/streamable-http). Default: none. */
  readonly nameParam?: string | undefined
  /** Whether it only reads: a client may send it again when its connection was lost. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * Whether its handler may ask the client, in rounds from 2026-07-28 on. Default true; with false `inputResponses` and `requestState` are
   * params like any.
   */
  readonly mayAsk?: boolean | undefined
  /** Whether it may run for long: a client asks for its progress, which starts the timeout anew. Default false. */
  readonly longRunning?: boolean | undefined
}

/** A method of an extension: params `P`, result `A` and declared failure `F`. `D` is the side that sends it. */
export interface Request<P, A, F, D extends Sender = Sender> extends RequestInfo {
  readonly from: D
  readonly method: string
  readonly params: ValueCodec<P>
  readonly result: ValueCodec<A>
  readonly failure: ValueCodec<F> | undefined
  /** The code of the JSON-RPC error that carries a declared failure. */
  readonly failureCode: number
  /** The extension that the method is a part of; undefined until `make` has taken it. */
  readonly extension: Identity | undefined
}

/** A notification of an extension, with params `P`. */
export interface Notification<P, D extends Sender = Sender> {
  readonly from: D
  readonly method: string
  readonly params: ValueCodec<P>
  readonly extension: Identity | undefined
}

/** A kind of `subscriptions/listen` (2026-07-28): the member of its filter, and the value of that member. */
export interface Subscription<P> {
  /** The member of `notifications` in the params of `subscriptions/listen`. */
  readonly key: string
  readonly filter: ValueCodec<P>
  readonly extension: Identity | undefined
}

/** A key of `_meta` with a Schema. */
export interface MetaKey<A> {
  readonly key: string
  readonly value: ValueCodec<A>
  /** The value in a `_meta`; undefined where the key is absent. */
  readonly read: (meta: JsonObject) => Effect.Effect<A | undefined, InvalidValue>
  /** The entry to add to a `_meta`. */
  readonly entry: (value: A) => Effect.Effect<JsonObject, InvalidValue>
}

/** The side that sends a message. */
export type Sender = "client" | "server"

/** What an extension is named by, and where it is declared. */
export interface Identity {
  readonly id: string
  /** The revisions that the extension is offered in. */
  readonly revisions: ReadonlyArray<Version> | undefined
  /** The capability that declares it, where it has one of its own. */
  readonly capability: "tasks" | undefined
  /** Whether its methods are served to a client that did not declare it. */
  readonly undeclared: "refused" | "served"
}

type AnyRequest<D extends Sender> = Request<any, any, any, D> | Request<any, any, never, D>
type Requests<D extends Sender> = { readonly [name: string]: AnyRequest<D> }
type Notifications = { readonly [name: string]: Notification<any> }
type Subscriptions = { readonly [name: string]: Subscription<any> }
type MetaKeys = { readonly [name: string]: MetaKey<any> }

/** An extension: the same value on server, client and in tests. */
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
  /** The methods that a client sends. */
  readonly requests: Reqs
  /** The methods that a server sends: a request in a session, a question inside a result from 2026-07-28 on. */
  readonly questions: Qs
  readonly notifications: Ns
  readonly subscriptions: Subs
  readonly meta: Ms
  /** What a client and a server declare with it. */
  readonly clientSettings: ValueCodec<CS>
  readonly serverSettings: ValueCodec<SS>
}

/** Any extension. */
export type Any = Extension<any, any, any, any, any, any, any>

type TypeOfShape<S extends Shape | undefined> = undefined extends S ? {} : TypeOf<S>

/**
 * The shapes of a method. `params` and `result` are fields of a struct, or schemas of objects; without them they are empty. `_meta` is no
 * part of them, unless a result has a field of that name.
 */
export interface RequestShapes<P extends Shape, A extends Shape, F extends AnyCodec> extends RequestInfo {
  readonly params?: P
  readonly result?: A
  /** The schema of a failure that a peer with the same value receives typed. */
  readonly failure?: F
  /** The code of the JSON-RPC error that carries it. Default -31422. */
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

/** A method that a client sends and a server answers. */
export const request = <const P extends Shape = {}, const A extends Shape = {}, F extends AnyCodec = Schema.Never>(
  method: string,
  shapes: RequestShapes<P, A, F> = {}
): Request<TypeOf<P>, TypeOf<A>, F["Type"], "client"> => makeRequest("client", method, shapes)

/** A method that a server sends and a client answers, while the server handles a request. */
export const question = <const P extends Shape = {}, const A extends Shape = {}, F extends AnyCodec = Schema.Never>(
  method: string,
  shapes: RequestShapes<P, A, F> = {}
): Request<TypeOf<P>, TypeOf<A>, F["Type"], "server"> => makeRequest("server", method, shapes)

/** A notification that `from` sends. */
export const notification = <D extends Sender, const P extends Shape = {}>(
  method: string,
  { from, params }: { readonly from: D; readonly params?: P }
): Notification<TypeOf<P>, D> => ({
  from,
  method,
  params: messageOf(`The params of ${method}`, params),
  extension: undefined
})

/** A kind of `subscriptions/listen`; `filter` is the schema of what a client asks for. */
export const subscription = <F extends AnyCodec>(key: string, filter: F): Subscription<F["Type"]> => ({
  key,
  filter: codecOf(`The filter ${key}`, filter),
  extension: undefined
})

/** A key of `_meta`, with the prefix of the extension. */
export const meta = <F extends AnyCodec>(key: string, schema: F): MetaKey<F["Type"]> => {
  const value: ValueCodec<F["Type"]> = codecOf(`The key ${key} of _meta`, schema)
  return {
    key,
    value,
    read: (meta) => (Object.hasOwn(meta, key) ? value.decode(meta[key]) : Effect.succeed(undefined)),
    entry: (given) => Effect.map(value.encode(given), (wire) => ({ [key]: wire }))
  }
}

/** The parts of an extension; all are optional. */
export interface Definition<
  Reqs extends Requests<"client">,
  Qs extends Requests<"server">,
  Ns extends Notifications,
  Subs extends Subscriptions,
  Ms extends MetaKeys,
  CS extends Shape | undefined,
  SS extends Shape | undefined
> {
  /** For documentation: what it adds, and what a side without it falls back to. */
  readonly description?: string
  readonly requests?: Reqs
  readonly questions?: Qs
  readonly notifications?: Ns
  readonly subscriptions?: Subs
  readonly meta?: Ms
  /** What a client declares with it. Default: an empty object. */
  readonly clientSettings?: CS
  /** What a server declares with it. Default: an empty object. */
  readonly serverSettings?: SS
  /** The revisions that it is offered in. Default: all. */
  readonly revisions?: ReadonlyArray<Version>
  /** A capability of its own instead of an entry among the extensions, as tasks had in 2025-11-25. Default: none. */
  readonly capability?: "tasks"
  /**
   * What a request of a client that did not declare the extension gets: `refused` by -32021 with the declaration that it lacks, or
   * `served`. Default `refused`.
   */
  readonly undeclared?: "refused" | "served"
}

/**
 * Describes an extension. `id` has a prefix in reverse DNS notation. Throws for an id or a key of `_meta` without one,
 * and for a method or subscription that MCP has or that is named twice.
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
  const { capability, clientSettings, description, revisions, serverSettings, undeclared = "refused" } = definition
  if (!Meta.isExtensionId(id)) {
    throw new Error(`The id of an extension has a prefix, such as com.example/name: ${JSON.stringify(id)}`)
  }
  checkNames(id, definition)
  const identity: Identity = { id, revisions, capability, undeclared }
  return {
    ...identity,
    description,
    requests: owned(definition.requests, identity),
    questions: owned(definition.questions, identity),
    notifications: owned(definition.notifications, identity),
    subscriptions: owned(definition.subscriptions, identity),
    meta: definition.meta ?? ({} as Ms), // the default of the type parameter
    clientSettings: codecOf(`The settings of a client of ${id}`, clientSettings),
    serverSettings: codecOf(`The settings of a server of ${id}`, serverSettings)
  }
}

/** The parts with the extension that they belong to. */
const owned = <T extends { readonly [name: string]: object }>(parts: T | undefined, extension: Identity): T =>
  // Each part keeps its type: `extension` is a member that it has already.
  Object.fromEntries(Object.entries(parts ?? {}).map(([name, part]) => [name, { ...part, extension }])) as T

const isKnown = (method: string): boolean =>
  [
    MethodInfo.clientRequests,
    MethodInfo.serverRequests,
    MethodInfo.clientNotifications,
    MethodInfo.serverNotifications
  ].some((table) => Object.hasOwn(table, method))

/** Throws for a name that is empty, that MCP has, or that is there twice. */
const checkOwn = (id: string, what: string, names: ReadonlyArray<string>, isKnown: (name: string) => boolean): void => {
  for (const [i, name] of names.entries()) {
    if (name === "" || isKnown(name)) {
      throw new Error(`The extension ${id} cannot have the ${what} ${JSON.stringify(name)}: MCP has it, or it is empty`)
    }
    if (names.indexOf(name) !== i) throw new Error(`The extension ${id} has the ${what} ${name} twice`)
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
    throw new Error(`A key of _meta has a prefix, such as com.example/name; ${id} has ${JSON.stringify(bare.key)}`)
  }
}

/** Whether a revision has the extension. */
export const isIn = ({ revisions }: Pick<Identity, "revisions">, { version }: Pick<Revision, "version">): boolean =>
  revisions === undefined || revisions.includes(version)

/** Whether some revision has both extensions. */
export const meet = (one: Identity, other: Identity): boolean =>
  one.revisions === undefined || one.revisions.some((version) => isIn(other, { version }))

type Capabilities = ClientCapabilities | ServerCapabilities

/** The settings of an extension among declared capabilities; undefined where they do not declare it, or the revision lacks it. */
export const settingsIn = (
  extension: Omit<Identity, "undeclared">,
  revision: Pick<Revision, "rules" | "version">,
  capabilities: Capabilities
): JsonObject | undefined => {
  const { capability, id } = extension
  if (!isIn(extension, revision)) return undefined
  if (capability !== undefined) return capabilities[capability]
  // Clients of older revisions declare extensions in either member.
  return entryOf(capabilities[revision.rules.extensions], id) ?? entryOf(capabilities.extensions, id)
}

const entryOf = (declared: { readonly [id: string]: JsonObject } | undefined, id: string): JsonObject | undefined =>
  declared !== undefined && Object.hasOwn(declared, id) ? declared[id] : undefined

/** The capabilities that declare an extension with these settings, in the words of a revision. */
export const declarationOf = (
  { capability, id }: Identity,
  { rules }: Pick<Revision, "rules">,
  settings: JsonObject
): Pick<Capabilities, "experimental" | "extensions" | "tasks"> =>
  capability === undefined ? { [rules.extensions]: { [id]: settings } } : { [capability]: settings }

/** Whether a revision has a method of an extension. */
export const hasMethod = (
  { extension, revisions }: Pick<Request<any, any, any>, "extension" | "revisions">,
  revision: Pick<Revision, "version">
): boolean =>
  (extension === undefined || isIn(extension, revision)) &&
  (revisions === undefined || revisions.includes(revision.version))
